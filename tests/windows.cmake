# Leaves out the tests that have no meaning on Windows, or that this build cannot run. ctest names
# each of them in its summary as "Not Run (Disabled)".
set(left_out
    # fork(), signals, pipes, pseudo-terminals, links, limits of the system
    "_posix_test" "/fork_test" "/openmp_test"
    # replaces malloc and mmap through the dynamic linker
    "/allocation_test"
    # runs the command through fork() and pseudo-terminals
    "^cli/" "/sampling_fields_test"
    # the server needs POSIX sockets
    "^serve/")
list(JOIN left_out "|" left_out)
set(left_out_sources ${test_sources})
list(FILTER left_out_sources INCLUDE REGEX "${left_out}")
list(FILTER test_sources EXCLUDE REGEX "${left_out}")
list(FILTER support_sources EXCLUDE REGEX "/(command|http_client|test_server).cpp")
foreach(source ${left_out_sources})
  get_test_name(name ${source})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES DISABLED TRUE)
endforeach()
# Test cases about links, devices and permissions of POSIX.
set(gpt2_left_out_cases "~[posix]")
