#!/usr/bin/env bash
# Lets clang check the public headers and the sources that no instruction set and no other system
# owns, as a compiler for Windows that refuses what only GCC takes; and gpt2.h as Microsoft's compiler
# would read it, whose C++ library is not here. Makes no code.
#
#   clang_test.sh SOURCE_DIR BUILD_DIR SYSROOT GXX CLANG
#
# GXX is mingw-w64's compiler, whose headers clang reads.
set -euo pipefail

source="$1" build="$2" sysroot="$3" gxx="$4" clang="$5"
cd "$source"

mapfile -t found < <("$gxx" -E -v -x c++ - </dev/null 2>&1 | sed -n 's/^ \(\/.*\/include\)/\1/p')
includes=(-Iinclude -Isrc "-I$build/generated" -isystem "$sysroot/usr/include" -nostdinc++)
for directory in "${found[@]}"; do
  [[ "$directory" == */c++* ]] && includes+=(-isystem "$directory")
done
options=(--target=x86_64-w64-mingw32 -std=c++20 -fsyntax-only -Werror -Wall -Wextra -Wpedantic
  -Wmicrosoft -Wgnu -Wno-pragma-once-outside-header -DGPT2_BUNDLED_MODEL='""' -DGPT2_DATA_DIR='""'
  "${includes[@]}")

{
  find include/gpt2 -name '*.h'
  find src -name '*.cpp' ! -name '*_posix.cpp' ! -name '*_linux.cpp' ! -name '*_macos.cpp' \
    ! -name '*_web.cpp' ! -name 'kernels_*.cpp' ! -name editor.cpp ! -path 'src/serve/*' \
    ! -path src/cli/serve.cpp
} | xargs -P "$(nproc)" -n 8 "$clang" "${options[@]}" -x c++

"$clang" --driver-mode=cl --target=x86_64-pc-windows-msvc /Zs /W4 /WX \
  -Wno-pragma-once-outside-header -Iinclude -imsvc "${found[-1]}" /TC include/gpt2/gpt2.h
