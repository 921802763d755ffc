#!/usr/bin/env bash
# Tests that a checkout builds from every folder: checkout_test.sh SOURCE_DIR
#
# Rules that chose sources by a part of their absolute path would leave all of them out in a checkout
# below a folder that is named like one of the project's own. Compares what would be compiled there
# with what would be compiled elsewhere, and compiles one file.
set -euo pipefail

source="$(cd "$1" && pwd)"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"

# Prints the files that a checkout at $1 would compile, without the path of the checkout.
compiled() {
  local checkout="$1"
  mkdir -p "$checkout"
  for part in CMakeLists.txt LICENSE README.md CHANGELOG.md include src tests tools models; do
    ln -s "$source/$part" "$checkout/$part"
  done
  # CMake resolves links to files, but not those to folders.
  rm "$checkout/src" "$checkout/tests"
  cp -R "$source/src" "$source/tests" "$checkout"
  cmake -G Ninja -S "$checkout" -B "$checkout/build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
  sed -n "s|^ *\"file\": \"$checkout/\(.*\)\",*|\1|p" "$checkout/build/compile_commands.json" | sort
}

compiled "$scratch/plain" >"$scratch/plain.txt"
compiled "$scratch/src/cli/src/kernels/tests/cli/checkout" >"$scratch/nested.txt"
[[ "$(wc -l <"$scratch/plain.txt")" -gt 100 ]]
diff "$scratch/plain.txt" "$scratch/nested.txt"
ninja -C "$scratch/src/cli/src/kernels/tests/cli/checkout/build" CMakeFiles/gpt2.dir/src/base/text.cpp.o >/dev/null
