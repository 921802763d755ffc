# The command as one file that needs no shared library, for any Linux of its architecture.
#
# It is linked with glibc and not with musl, for which Debian has no C++ library. A static glibc
# still needs shared libraries for the names of hosts and users, for character sets and for dlopen();
# the command uses none of these. libgomp calls dlopen() for code that runs on accelerators, which
# the command has none of, so the linker's warning about it is not true here. As in portable.cmake,
# there is neither libedit nor libmicrohttpd.
find_library(UTF8PROC_STATIC_LIBRARY libutf8proc.a)
if(NOT UTF8PROC_STATIC_LIBRARY)
  return()
endif()
add_executable(gpt2_static_cli EXCLUDE_FROM_ALL
  ${gpt2_command_objects} src/cli/terminal/editor_plain.cpp src/cli/serve_missing.cpp)
target_include_directories(gpt2_static_cli PRIVATE src include)
# This names the file of the library, because the target would add the libraries of this system.
target_link_libraries(gpt2_static_cli PRIVATE gpt2_options $<TARGET_FILE:gpt2>
                      ${UTF8PROC_STATIC_LIBRARY})
add_dependencies(gpt2_static_cli gpt2)
target_link_options(gpt2_static_cli PRIVATE -static -fopenmp -Wl,--gc-sections)
set_target_properties(gpt2_static_cli PROPERTIES
  OUTPUT_NAME gpt2 RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/static
  LINK_DEPENDS $<TARGET_FILE:gpt2>)
