# Cross-compiles for 64-bit Windows with Debian's g++-mingw-w64-x86-64-posix, and runs the tests with
# wine. GPT2_SYSROOT is the directory with the dependencies, which tools/source_sysroot.sh makes.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR env;WINEDEBUG=-all;LC_ALL=C.UTF-8;wine)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPT2_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${GPT2_SYSROOT}/usr /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# GCC does not align the stack for vectors of 32 and 64 bytes on this target (its bug 54412), so an
# aligned move of a vector that it keeps there would fault. The assembler, from binutils 2.38 on,
# makes unaligned moves of them. On aligned memory, these are as fast. Debian's GCC makes them by
# itself (its bug 939559), but other builds of GCC do not.
set(CMAKE_CXX_FLAGS_INIT -Wa,-muse-unaligned-vector-move)
# The programs and the DLL need no DLL of the compiler, and do not contain the time at which they
# were linked, so that two builds make the same bytes.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -Wl,--no-insert-timestamp")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static -Wl,--no-insert-timestamp")
set(OpenMP_gomp_LIBRARY -lgomp CACHE STRING "CMake would find the DLL")
