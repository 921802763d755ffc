# There is one object library for each instruction set. Only the files of these libraries may use
# instructions beyond the baseline of the architecture. They include only the headers of kernels, so
# that no shared inline function is compiled for a newer CPU: the linker could choose that copy for
# the whole program. tests/project/isa_symbols_test.cmake inspects the objects.
set(gpt2_isa_flags_scalar "")
set(gpt2_isa_flags_avx2 -mavx2 -mfma -mf16c)
set(gpt2_isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c
                          -mamx-tile -mamx-int8 -mprefer-vector-width=512)
set(gpt2_isa_flags_neon -march=armv8-a)
set(gpt2_isa_flags_neon_dotprod -march=armv8.2-a+dotprod)
set(gpt2_isa_flags_wasm -msimd128)
set(gpt2_isa_flags_wasm_relaxed -msimd128 -mrelaxed-simd)

set(gpt2_isas scalar)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND gpt2_isas avx2)
  # A build with a sanitizer is for the machine that compiles it. Kernels that its CPU cannot run
  # would take a tenth of the time. Threads do the same with every instruction set.
  set(gpt2_has_avx512 ON)
  if(GPT2_SANITIZE STREQUAL "thread")
    set(gpt2_has_avx512 OFF)
  elseif(GPT2_SANITIZE AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo gpt2_has_avx512 REGEX "avx512_vnni" LIMIT_COUNT 1)
  endif()
  if(gpt2_has_avx512)
    list(APPEND gpt2_isas avx512)
    set_source_files_properties(src/kernels/dispatch.cpp PROPERTIES
                                COMPILE_DEFINITIONS GPT2_HAS_AVX512)
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND gpt2_isas neon neon_dotprod)
elseif(EMSCRIPTEN)
  set(gpt2_isas wasm wasm_relaxed)
endif()

# The tiles stay in registers only if everything is inlined and unrolled. Therefore every build that
# optimizes at all compiles the kernels with -O3. Loops are aligned, because otherwise a change of
# one kernel moves the loops of others, which made writing in f32 up to 7 % slower (Zen 5).
#
# With a sanitizer, which adds checks to every lane, -O3 and GCC's search for the best registers in
# each loop would make the compilation take minutes, so these builds use -O1 without the search. Two
# more kinds of checks than elsewhere are left out, because each multiplies the time again: UBSan's
# other checks of every pointer, and AddressSanitizer's of variables on the stack, where the kernels
# keep their tiles. AddressSanitizer still finds each access outside a buffer, and UBSan each index
# outside an array. Nothing checks alignment.
set(gpt2_kernels_optimized -O3 -falign-functions=64 -falign-loops=32)
if(EMSCRIPTEN)  # which inlines nothing where the rest of the library is compiled with -Os
  set(gpt2_kernels_optimized -O3 -sINLINING_LIMIT=0)
endif()
if(GPT2_SANITIZE)
  set(gpt2_kernels_optimized "-O1$<$<CXX_COMPILER_ID:GNU>:;-fira-region=one>")
endif()
set(gpt2_kernels_unchecked "")
if(GPT2_SANITIZE MATCHES "address,undefined")
  set(gpt2_kernels_unchecked -fno-sanitize=alignment,pointer-overflow
                             $<$<CXX_COMPILER_ID:GNU>:--param=asan-stack=0>)
endif()

foreach(isa IN LISTS gpt2_isas)
  add_library(gpt2_kernels_${isa} OBJECT src/kernels/kernels_${isa}.cpp)
  set_target_properties(gpt2_kernels_${isa} PROPERTIES ${gpt2_object_properties})
  target_include_directories(gpt2_kernels_${isa} PRIVATE src)
  target_compile_options(gpt2_kernels_${isa} PRIVATE ${gpt2_isa_flags_${isa}} -fno-exceptions
                         "$<$<NOT:$<CONFIG:Debug>>:${gpt2_kernels_optimized}>"
                         # GCC 12 warns about its own _mm512_undefined functions, and notes that
                         # older versions passed parameters like a Vec in another way.
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized$<SEMICOLON>-Wno-maybe-uninitialized$<SEMICOLON>-Wno-psabi>)
  target_link_libraries(gpt2_kernels_${isa} PRIVATE gpt2_options)
  set_source_files_properties(src/kernels/kernels_${isa}.cpp PROPERTIES  # after -fsanitize
                              COMPILE_OPTIONS "${gpt2_kernels_unchecked}")
  if(NOT EMSCRIPTEN)
    target_sources(gpt2 PRIVATE $<TARGET_OBJECTS:gpt2_kernels_${isa}>)
  endif()
endforeach()
if(NOT EMSCRIPTEN)  # src/web/web.cmake makes a module for each instruction set
  target_sources(gpt2 PRIVATE src/kernels/dispatch.cpp)
endif()
