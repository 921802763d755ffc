#!/usr/bin/env bash
# Makes the wheel of the Python package, in build/, and prints its path: tools/wheel.sh
#
# Its library is the one of the .tar.gz, linked from what build/release has compiled. It needs no
# libraries but those that every system has and OpenMP's, which the wheel contains. The name of the
# wheel contains the oldest version of glibc that suffices.
set -euo pipefail

if [[ $# -gt 0 ]]; then
  printf 'wheel: it takes no arguments: tools/wheel.sh\n' >&2
  exit 2
fi
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/tools/install_dependencies.sh" patchelf
"$root/tools/build.sh" release gpt2_portable_shared
printf 'wheel: packing\n' >&2
portable="$root/build/release/portable"
python3 "$root/tools/make_wheel.py" "$portable/lib/libgpt2.so" "$root/build" \
  "$portable/lib/libgomp-gpt2.so.1" "$portable"/licenses/*
