#!/usr/bin/env bash
# Searches for inputs that break a reader: tools/fuzz.sh TARGET SECONDS [libFuzzer's options]
#
# TARGET, such as safetensors, zip or pickle, names the program tests/fuzz/fuzz_TARGET.cpp and its
# first inputs, tests/fuzz/corpus/TARGET. New inputs that are worth keeping are written to
# build/fuzz/corpus/TARGET, inputs that break something to build/fuzz/found. Installs clang if
# it is missing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
if [[ $# -lt 2 || ! -f "$root/tests/fuzz/fuzz_$1.cpp" ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
target="$1"
seconds="$2"
shift 2

CXX=clang++ "$root/tools/install_dependencies.sh" clang
"$root/tools/build.sh" fuzz "fuzz_$target"

work="$root/build/fuzz"
mkdir -p "$work/corpus/$target" "$work/found"
cd "$work"
# Using far more memory than the size of the input is an error too, because no file may take more
# memory than its content justifies.
exec "tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -malloc_limit_mb=512 -max_len=65536 -artifact_prefix=found/ -print_final_stats=1 "$@" \
  "corpus/$target" "$root/tests/fuzz/corpus/$target"
