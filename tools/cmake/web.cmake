# Compiles for WebAssembly with emscripten. GPT2_SYSROOT is the directory with the dependencies, which
# tools/source_sysroot.sh makes.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE emscripten
                OUTPUT_STRIP_TRAILING_WHITESPACE)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPT2_SYSROOT)
list(APPEND CMAKE_FIND_ROOT_PATH ${GPT2_SYSROOT}/usr)
# Debian's emscripten is older than C++20 in its library; the header adds what is missing.
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -include ${CMAKE_CURRENT_LIST_DIR}/../../src/base/libcxx14.h")
