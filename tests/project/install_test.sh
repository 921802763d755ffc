#!/usr/bin/env bash
# Tests the first programs of README.md (C++) and include/README.md (C), which are built against the
# library in each way that these pages name and then run; and the sample of the command's output in
# README.md.
#
#   install_test.sh SOURCE_DIR BUILD_DIR MODEL CXX CC
#
# BUILD_DIR, which must be built, is installed into an empty prefix. The prefix is then moved.
set -euo pipefail

source="$1" build="$2" model="$3" cxx="$4" cc="$5"

source "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.sh" "$model"

quietly() { "$@" >log 2>&1 || { cat log >&2; exit 1; }; }

# runs COMMAND...: fails unless the command succeeds and writes to standard output only.
runs() {
  "$@" >text 2>errors && [[ -s text && ! -s errors ]] && return
  printf '%s failed; it wrote "%s"\n' "$1" "$(<text)" >&2
  cat errors >&2
  exit 1
}

quietly cmake --install "$build" --prefix "$scratch/first"
mv first prefix
prefix="$scratch/prefix"

# first_block LANGUAGE PAGE: prints the first block of the page in that language.
first_block() {
  awk -v fence="\`\`\`$1" '/^```/ { if (inside) exit; inside = $0 == fence; next } inside' \
    "$source/$2"
}

mkdir app
first_block cpp README.md >app/app.cpp
first_block c include/README.md >app/app.c
[[ -s app/app.cpp && -s app/app.c ]]

# -- find_package ---------------------------------------------------------------------------------
cat >app/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C CXX)
find_package(gpt2 REQUIRED)
if(NOT EXISTS "${gpt2_MODELS_DIR}/gpt2-stories/config.json")
  message(FATAL_ERROR "no model in ${gpt2_MODELS_DIR}")
endif()
add_executable(app app.cpp)
target_link_libraries(app gpt2::gpt2)
add_executable(app_shared app.cpp)
target_link_libraries(app_shared gpt2::shared)
add_executable(app_in_c app.c)
target_link_libraries(app_in_c gpt2::gpt2)
END
mkdir app_in_c
cat >app_in_c/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(app_in_c LANGUAGES C)
find_package(gpt2 REQUIRED)
add_executable(app_in_c ../app/app.c)
target_link_libraries(app_in_c gpt2::shared)
END
mkdir app_alone  # on a machine without the libraries that gpt2 uses
cat >app_alone/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(app_alone LANGUAGES CXX)
if(NOT COMPONENTS STREQUAL "static")
  set(CMAKE_FIND_LIBRARY_PREFIXES none)
endif()
find_package(gpt2 REQUIRED COMPONENTS ${COMPONENTS})
add_executable(app_alone ../app/app.cpp)
target_link_libraries(app_alone gpt2::shared)
END
quietly cmake -S app_in_c -B found_in_c -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"
quietly cmake --build found_in_c
alone=(cmake -S app_alone -B found_alone -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx")
if "${alone[@]}" >errors 2>&1; then exit 1; fi
if "${alone[@]}" -DCOMPONENTS=static >errors 2>&1; then exit 1; fi
grep -q 'has no component static' errors
quietly "${alone[@]}" -DCOMPONENTS=shared
quietly cmake --build found_alone
quietly cmake -S app -B found -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx"
quietly cmake --build found
runs found/app "$model"
mv text static_text
runs found/app_shared "$model"
cmp text static_text
# Without an argument, in any directory: the library finds the model that was installed with it.
runs env -C / HOME=/ "$scratch/found/app_shared"
[[ "$(<text)" == 'Once upon a time, '* ]]
[[ -z "$(tail -c 1 text)" ]]  # the text ends in a newline
if found/app /nowhere 2>errors; then exit 1; fi
[[ "$(<errors)" == '/nowhere: no such file or directory'* ]]
runs found/app_in_c "$model"
mv text static_text
runs env -C / HOME=/ "$scratch/found_in_c/app_in_c"
cmp text static_text
[[ "$(<text)" == 'Once upon a time, '* ]]
if found/app_in_c /nowhere 2>errors; then exit 1; fi
[[ "$(<errors)" == *'/nowhere'* ]]

# -- pkg-config -----------------------------------------------------------------------------------
pc="$(dirname "$(find "$prefix" -name gpt2.pc)")"
read -ra flags <<<"$(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs gpt2)"  # the shared library
[[ -f "$(PKG_CONFIG_PATH="$pc" pkg-config --variable=modelsdir gpt2)/gpt2-stories/config.json" ]]
static="$(PKG_CONFIG_PATH="$pc" pkg-config --static --libs gpt2)"
[[ "$static" == *-lutf8proc*-fopenmp* ]]
quietly "$cxx" -std=c++20 -Wall -Wextra -Werror app/app.cpp -o packaged "${flags[@]}"
quietly "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror app/app.c -o packaged_in_c "${flags[@]}"
if LC_ALL=C "$cxx" -std=c++17 app/app.cpp -o packaged_17 "${flags[@]}" 2>errors; then exit 1; fi
[[ "$(grep -m 1 error: errors)" == *'gpt2.cpp needs C++20, such as -std=c++20'* ]]
for program in ./packaged ./packaged_in_c; do
  LD_LIBRARY_PATH="$(dirname "$pc")" runs "$program" "$model"
done

# -- add_subdirectory -----------------------------------------------------------------------------
cat >app/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES CXX)
add_subdirectory("$source" gpt2)
if(TARGET gpt2_cli OR TARGET layer_norm_test)
  message(FATAL_ERROR "more than the library would be built")
endif()
add_executable(app app.cpp)
target_link_libraries(app gpt2::gpt2)
END
# The library takes minutes to compile, so its objects are copied from BUILD_DIR, but for one.
launcher="$(sed -n 's/^CMAKE_CXX_COMPILER_LAUNCHER:[A-Z]*=//p' "$build/CMakeCache.txt")"
unity="$(sed -n 's/^CMAKE_UNITY_BUILD:[A-Z]*=//p' "$build/CMakeCache.txt")"
cat >launcher <<END
#!/usr/bin/env bash
case "\${*: -1}" in  # ends with -o OBJECT -c SOURCE
  */app.cpp | */unity_0_cxx.cxx | */src/model/attention.cpp | */find_model.cpp) exec $launcher "\$@" ;;
esac
exec cp "$build/\${*: -3:1}" "\${*: -3:1}"
END
chmod +x launcher
quietly cmake -S app -B nested -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_UNITY_BUILD="${unity:-OFF}" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$scratch/launcher" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
grep -q -e '-O[23] .*\(unity_0_cxx\.cxx\|attention\.cpp\)' nested/compile_commands.json || {
  printf 'without a build type, the library would not be optimized\n' >&2
  exit 1
}
quietly cmake --build nested --parallel "$(nproc)"
runs nested/app  # with the model in the sources

# -- the command ----------------------------------------------------------------------------------
[[ "$("$prefix/bin/gpt2" --version)" == 'gpt2 '* ]]
runs "$prefix/bin/gpt2" -m "$model" --max-new-tokens 1 x

# -- licences and attributions are installed -------------------------------------------------------
for name in LICENSE ATTRIBUTION gpt2-stories/config.json; do
  [[ -n "$(find "$prefix" -path "*/$name")" ]] || {
    printf 'not installed: %s\n' "$name" >&2
    exit 1
  }
done

# -- the installed command and model write the sample in README.md ---------------------------------
"$prefix/bin/gpt2" 'Once upon a time' | fold -s -w 100 | sed 's/ *$//' >written
first_block text README.md >printed
[[ "$(<written)" == "$(<printed)" ]] || {
  printf 'the sample in README.md should be:\n%s\n' "$(<written)" >&2
  exit 1
}
