#!/usr/bin/env bash
# Tests that tools/build.sh builds the checkout that it lies in, and that the scripts that take no
# arguments refuse them: build_script_test.sh SOURCE_DIR
#
# A small project stands in for the checkout. Its build copies one of its source files.
set -euo pipefail

source="$1"
source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$source"

mkdir -p first/tools
cp "$source/tools/build.sh" first/tools
cat >first/CMakePresets.json <<'END'
{ "version": 2,
  "configurePresets": [ { "name": "small", "generator": "Ninja",
                          "binaryDir": "${sourceDir}/build/${presetName}" } ],
  "buildPresets": [ { "name": "small", "configurePreset": "small" } ] }
END
cat >first/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(small LANGUAGES NONE)
add_custom_target(copy ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/text built)
END

# builds CHECKOUT EXPECTED: fails unless the build of CHECKOUT copies the text EXPECTED.
builds() {
  "$1/tools/build.sh" small 2>log || { cat log >&2; exit 1; }
  [[ "$(<"$1/build/small/built")" == "$2" ]] && return
  printf 'the build of %s copied "%s", expected "%s"\n' "$1" "$(<"$1/build/small/built")" "$2" >&2
  exit 1
}

# A copy of a checkout and one that was moved, including the build directory, build their own sources.
echo one >first/text
builds first one
cp -R first second
echo two >second/text
builds second two
mv first third
echo changed >third/text
builds third changed

# A build directory that was not moved is kept, even if a symbolic link leads to it. One that was set
# up with a ccache that is gone is made anew.
touch third/build/small/kept
ln -s third fourth
builds fourth changed
[[ -e third/build/small/kept ]]
echo 'CMAKE_CXX_COMPILER_LAUNCHER:STRING=/nowhere/ccache' >>third/build/small/CMakeCache.txt
builds third changed
[[ ! -e third/build/small/kept ]]

for script in docs npm web wheel zip; do
  status=0
  "$source/tools/$script.sh" --help >out 2>log || status=$?
  [[ $status -eq 2 && ! -s out && "$(<log)" == "$script: it takes no arguments: tools/$script.sh" ]]
done
