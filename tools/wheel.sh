#!/usr/bin/env bash
# Makes the wheel of the Python package, in build/: tools/wheel.sh
#
# Its library is the one of the .tar.gz, which tools/package.sh builds: it needs no libraries but
# those that every system has and OpenMP's, which the wheel contains. The name of the wheel contains the oldest version of glibc that
# suffices. Prints the path of the wheel.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/package.sh" tgz >/dev/null
python3 "$root/tools/make_wheel.py" "$root/build/package-tgz/libgpt2.so" "$root/build" \
  "$root/build/libgomp-gpt2.so.1"
