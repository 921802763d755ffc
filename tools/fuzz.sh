#!/usr/bin/env bash
# Looks for inputs that break a reader: tools/fuzz.sh TARGET SECONDS [libFuzzer's options]
#
# TARGET is a file of tests/fuzz without fuzz_ and .cpp: safetensors, zip, pickle ... Starts from
# tests/fuzz/corpus/TARGET; what is worth keeping collects in build/fuzz/corpus/TARGET, an input that
# breaks something in build/fuzz/found. Needs clang.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
if [[ $# -lt 2 || ! -f "$root/tests/fuzz/fuzz_$1.cpp" ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
target="$1"
seconds="$2"
shift 2

"$root/tools/build.sh" fuzz "fuzz_$target"

work="$root/build/fuzz"
mkdir -p "$work/corpus/$target" "$work/found"
cd "$work"
# Memory far past an input's size is a finding too: no file may take more than it justifies.
exec "tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -malloc_limit_mb=512 -max_len=65536 -artifact_prefix=found/ -print_final_stats=1 "$@" \
  "corpus/$target" "$root/tests/fuzz/corpus/$target"
