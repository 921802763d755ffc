# Leaves out the tests that have no meaning on Windows, or that this build cannot run. ctest names
# each of them in its summary as "Not Run (Disabled)".
function(gpt2_leave_out)
  foreach(name ${ARGN})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)
  endforeach()
endfunction()

set(left_out
    # need fork(), signals, pipes, links or limits of the system
    "_posix_test" "/fork_test" "/openmp_test"
    # replace malloc and mmap through the dynamic linker
    "/allocation_test"
    # the server needs POSIX sockets
    "^serve/")
list(JOIN left_out "|" left_out)
set(left_out_sources ${test_sources})
list(FILTER left_out_sources INCLUDE REGEX "${left_out}")
list(FILTER test_sources EXCLUDE REGEX "${left_out}")
list(FILTER support_sources EXCLUDE REGEX "/(http_client|test_server).cpp")
foreach(source ${left_out_sources})
  get_test_name(name ${source})
  gpt2_leave_out(${name})
endforeach()

# These are scripts of a POSIX shell or of Python.
gpt2_leave_out(layers_test checkout_test build_script_test shell_test mpirun_test link_test
               install_test package_test cli_page_test download_test recipes_test)
# This one loads the library with dlopen. Instead of it, import_library_test uses gpt2.dll.
gpt2_leave_out(shared_library_test)
# The functions of the C library that print and end a process have other names in the objects.
gpt2_leave_out(guest_symbols guest_symbols_refuses_others)

# Test cases about links, devices and permissions of POSIX, and those that type on a pseudo-terminal.
# console_windows_test types on a console. wine shows control sequences as they are, so no test can
# tell whether the colours and the progress of a console are right.
set(gpt2_left_out_cases "~[posix]~[terminal]")

# The linker needs a time that grows with the square of the number of sections. Catch2's own code has
# 29000 sections without optimization, and 2600 with it. This links a program in 1 s instead of 37 s.
set_source_files_properties(support/catch_session.cpp PROPERTIES COMPILE_OPTIONS -O1)
