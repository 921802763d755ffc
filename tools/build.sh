#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json: tools/build.sh PRESET [TARGET...]. Writes to
# stderr only. On a terminal it shows the progress; otherwise it writes one line and, if the build
# fails, the log.
set -euo pipefail

preset="${1:?is missing: tools/build.sh PRESET [TARGET...]}"
shift
# Before version 4.4, as on macOS, bash takes an empty list for a variable that is not set, so lists
# that may be empty are written as ${list[@]+"${list[@]}"}.
targets=()
[[ $# -gt 0 ]] && targets=(--target "$@")

cd "$(dirname "${BASH_SOURCE[0]}")/.."
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

quietly() {
  "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  printf 'build: %s failed\n' "$preset" >&2
  exit 1
}

# If the checkout has been copied or moved, its build directory still refers to the sources at the
# old path. In this case, the script rebuilds from scratch.
cache="build/$preset/CMakeCache.txt"
if [[ -f "$cache" ]]; then
  sources="$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")"
  [[ "$sources" -ef . ]] || rm -rf "build/$preset"
fi
# A build that was set up with ccache runs it in every command, so it fails once ccache is gone.
if [[ -f "$cache" ]]; then
  launcher="$(sed -n 's/^CMAKE_CXX_COMPILER_LAUNCHER:[A-Z]*=//p' "$cache")"
  [[ -z "$launcher" ]] || command -v "$launcher" >/dev/null || rm -rf "build/$preset"
fi

options=()
# ccache does not know what a precompiled header depends on.
if command -v ccache >/dev/null 2>&1; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
fi
note=""
if [[ ! -f "build/$preset/build.ninja" ]]; then
  note=" (the first time, this takes some minutes)"
  quietly cmake --preset "$preset" ${options[@]+"${options[@]}"}
fi

if [[ -t 2 ]]; then
  NINJA_STATUS="$preset [%f/%t] " cmake --build --preset "$preset" ${targets[@]+"${targets[@]}"} >&2
else
  printf 'build: %s%s\n' "$preset" "$note" >&2
  quietly cmake --build --preset "$preset" ${targets[@]+"${targets[@]}"}
fi
