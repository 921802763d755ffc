#!/usr/bin/env bash
# Installs what is missing, builds and runs every test.
#
#   tools/test.sh [--asan | --tsan] [ctest's options, such as -R tokenizer]
#
#   --asan   under AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan   under ThreadSanitizer
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
preset=dev
case "${1:-}" in
  --asan | --tsan)
    preset="${1#--}"
    shift
    ;;
esac

"$root/tools/install_dependencies.sh"
"$root/tools/build.sh" "$preset"

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
cd "$root"
exec ctest --preset "$preset" --parallel "$(nproc)" "$@"
