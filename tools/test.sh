#!/usr/bin/env bash
# Installs missing packages, builds, and runs all tests.
#
#   tools/test.sh [--asan | --tsan | --aarch64 | --windows | --web | --chromium]
#                 [ctest's options]
#
#   --asan     under AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan     under ThreadSanitizer, only the tests that start threads and those of the server
#   --aarch64  compiled for 64-bit Arm and run with qemu; needs a Debian machine
#   --windows  compiled for 64-bit Windows and run with wine; needs a Debian machine
#   --web      compiled for WebAssembly and run with Node 20, 22 and 24, Chromium, Firefox and WebKit,
#              also as Vite, webpack and esbuild bundle it; needs a Debian machine
#   --chromium the same, but without installing Firefox and WebKit
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
preset=dev
case "${1:-}" in
  --help | -h)
    sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  --asan | --tsan | --aarch64 | --windows | --web | --chromium)
    preset="${1#--}"
    shift
    ;;
esac

if [[ "$preset" == web || "$preset" == chromium ]]; then
  engines=()
  [[ "$preset" == chromium ]] || engines=(firefox-esr webkit2gtk-driver xvfb)
  "$root/tools/install_dependencies.sh" chromium "${engines[@]}"
  command -v npm >/dev/null || "$root/tools/install_dependencies.sh" npm
  package="$("$root/tools/npm.sh")"
  folders=("$root"/build/{site,web/wasm,web/wasm_relaxed})
  for folder in "${folders[@]:1}"; do cp "$root"/src/web/*.mjs "$folder"; done
  "$root/tests/web/nodes.sh" "${folders[@]}" "$@"
  python3 "$root/tests/web/page_test.py" "${folders[0]}"
  python3 "$root/tests/web/bundlers_test.py" "$package"
  python3 "$root/tests/web/engine_test.py" "${folders[@]}"
  exit 0
elif [[ "$preset" == aarch64 ]]; then
  "$root/tools/install_dependencies.sh" g++-aarch64-linux-gnu qemu-user
  "$root/tools/aarch64_sysroot.sh" "$root/build/aarch64-sysroot"
elif [[ "$preset" == windows ]]; then
  "$root/tools/install_dependencies.sh" g++-mingw-w64-x86-64-posix wine wine64
  "$root/tools/source_sysroot.sh" "$root/build/windows-sysroot" \
    x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-ar
else
  "$root/tools/install_dependencies.sh"
fi
"$root/tools/build.sh" "$preset"
if [[ "$preset" == [at]san ]]; then "$root/tools/build.sh" dev gpt2_command_tests; fi
if [[ "$preset" != dev ]]; then export GPT2_TEST_SLOW=1; fi  # run only a part of the long tests

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
# wine sets itself up when it first runs. Two tests that begin this at once get in each other's way.
if [[ "$preset" == windows ]]; then WINEDEBUG=-all wine wineboot --init; fi
cd "$root"
tests_at_once="$(getconf _NPROCESSORS_ONLN)"
# Some tests wait more than they compute, unless an emulator makes them slow.
if [[ "$preset" == dev || "$preset" == [at]san ]]; then tests_at_once=$((tests_at_once + 1)); fi
exec ctest --preset "$preset" --parallel "$tests_at_once" "$@"
