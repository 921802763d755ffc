# Every global symbol that a kernel object defines must name its instruction set. If one does not,
# for example an inline function of the standard library, then the linker may keep that copy for the
# whole program, and the program fails on an older CPU.
#
#   cmake -D NM=... -D ISA=avx2 -D OBJECTS=... -P isa_symbols_test.cmake
string(REPLACE "_" "" isa "${ISA}")
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --extern-only --defined-only ${object}
                  OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} cannot read ${object}")
  endif()
  string(REGEX MATCHALL "[^\n]+" symbols "${output}")
  list(LENGTH symbols count)
  if(count EQUAL 0)
    message(FATAL_ERROR "${object} defines nothing")
  endif()
  foreach(symbol IN LISTS symbols)
    string(TOLOWER "${symbol}" name)  # kNeonDotprodKernels and gpt2::neon_dotprod
    string(REPLACE "_" "" name "${name}")
    if(symbol MATCHES " \\.refptr\\.")  # the address of another object's symbol, on Windows
      continue()
    endif()
    if(NOT name MATCHES "${isa}")
      message(FATAL_ERROR "${object} defines a symbol that does not name ${ISA}: ${symbol}")
    endif()
  endforeach()
  message(STATUS "${object}: ${count} global symbols, all of ${ISA}")
endforeach()
