# The library is a guest in somebody's process: it never prints, reads standard input, ends the
# process or installs handlers. This script reads from the library's objects which functions and
# objects of the C and C++ libraries they refer to. It fails unless the forbidden ones among these
# are exactly the ones in EXPECTED: none for the library, all of them for planted/bad_guest.cpp.
#
#   cmake -D NM=... -D OBJECTS=... -D EXPECTED=... -D SOURCES=DIRECTORIES
#         -P guest_symbols_test.cmake
#
# It cannot see
#   - what linked libraries do: nlohmann/json is compiled into the objects and therefore checked,
#     but utf8proc and the standard library are not;
#   - read(2) of descriptor 0, which looks like a read of any other file, and system calls by
#     number;
#   - a FILE* or a std::ostream that the caller passes in;
#   - the assertions of a build without NDEBUG. Therefore, __assert_fail and __glibcxx_assert_fail
#     are not forbidden;
#   - who calls std::terminate. Compilers call it where an exception would leave a noexcept function
#     (clang through __clang_call_terminate), and <thread> calls it if a thread is not joined. So
#     objects may refer to it, but the sources must not name it.
cmake_minimum_required(VERSION 3.20)

set(refused
    # print
    stdout stderr puts putchar putchar_unlocked perror psignal printf vprintf __printf_chk
    __vprintf_chk dprintf vdprintf write writev syslog vsyslog std::cout std::cerr std::clog
    std::wcout std::wcerr std::wclog
    # read standard input
    stdin getchar getchar_unlocked gets scanf vscanf __isoc99_scanf __isoc23_scanf std::cin std::wcin
    # end the process, or the thread
    exit _exit _Exit quick_exit abort raise kill pthread_kill pthread_exit
    # install handlers
    signal sigaction bsd_signal sysv_signal __sysv_signal atexit at_quick_exit
    "std::set_terminate(void (*)())" "std::set_new_handler(void (*)())")

set(found "")
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --demangle --undefined-only ${object}
                  OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} cannot read ${object}")
  endif()
  string(REGEX MATCHALL " [Uvw] [^\n]+" references "${output}")
  list(LENGTH references count)
  math(EXPR total "0${total} + ${count}")
  foreach(reference IN LISTS references)
    string(SUBSTRING "${reference}" 3 -1 name)
    string(REPLACE "std::__1::" "std::" name "${name}")  # libc++
    if(name IN_LIST refused)
      message(STATUS "${object} refers to ${name}")
      list(APPEND found "${name}")
    endif()
  endforeach()
endforeach()
if(NOT total)
  message(FATAL_ERROR "the objects refer to nothing at all: ${OBJECTS}")
endif()

foreach(directory IN LISTS SOURCES)
  file(GLOB_RECURSE files ${directory}/*.h ${directory}/*.cpp)
  list(FILTER files EXCLUDE REGEX "/src/cli/")
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "(^|[^A-Za-z_])terminate *\\(")
    if(lines)
      message(STATUS "${file} names std::terminate")
      list(APPEND found "terminate in ${file}")
    endif()
  endforeach()
endforeach()

list(REMOVE_DUPLICATES found)
list(SORT found)
list(SORT EXPECTED)
if(NOT "${found}" STREQUAL "${EXPECTED}")
  message(FATAL_ERROR "refused are [${found}], expected [${EXPECTED}]")
endif()
message(STATUS "${total} references, refused: [${found}]")
