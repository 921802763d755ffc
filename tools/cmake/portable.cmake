# The library and the command of the .tar.gz and of the wheel: the same objects, linked in a way
# that needs no libraries but glibc and libgcc_s, which every system has.
#
# libstdc++ and utf8proc are linked statically. OpenMP's library, libgomp, cannot be linked
# statically into a shared one, so the packages contain a copy of it. The copy has a name of its
# own. Otherwise, a program would use the copy for its other libraries as well, which may need a
# newer one. Unused sections are removed because a part of libstdc++ that is never called needs a
# newer glibc. The command is linked without libedit, which would add a dependency on a terminal
# library, so gpt2 --interactive reads plain lines; and without libmicrohttpd, which needs GnuTLS, so
# it has no gpt2 serve.
find_library(UTF8PROC_STATIC_LIBRARY libutf8proc.a)
if(NOT OpenMP_gomp_LIBRARY OR NOT UTF8PROC_STATIC_LIBRARY)
  foreach(target gpt2_portable gpt2_portable_shared)
    add_custom_target(${target} VERBATIM
      COMMAND ${CMAKE_COMMAND} -E echo "needs libgomp, which is part of g++, and libutf8proc.a"
      COMMAND ${CMAKE_COMMAND} -E false)
  endforeach()
  return()
endif()

set(gpt2_portable_dir ${PROJECT_BINARY_DIR}/portable)
set(gpt2_portable_openmp ${gpt2_portable_dir}/lib/libgomp-gpt2.so.1)
add_custom_command(
  OUTPUT ${gpt2_portable_openmp} DEPENDS ${OpenMP_gomp_LIBRARY} VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${gpt2_portable_dir}/lib
  COMMAND ${CMAKE_COMMAND} -E copy ${OpenMP_gomp_LIBRARY} ${gpt2_portable_openmp}
  COMMAND patchelf --set-soname libgomp-gpt2.so.1 ${gpt2_portable_openmp})
add_custom_target(gpt2_copied_openmp DEPENDS ${gpt2_portable_openmp})
add_library(gpt2_portable_openmp SHARED IMPORTED)
add_dependencies(gpt2_portable_openmp gpt2_copied_openmp)
set_target_properties(gpt2_portable_openmp PROPERTIES IMPORTED_LOCATION ${gpt2_portable_openmp}
                                                      IMPORTED_SONAME libgomp-gpt2.so.1)

gpt2_add_shared_library(gpt2_portable_shared)
add_executable(gpt2_portable_cli ${gpt2_command_objects}
                                 src/cli/terminal/editor_plain.cpp src/cli/serve_missing.cpp)
target_include_directories(gpt2_portable_cli PRIVATE src include)
# This names the file of the library, because the target would add the libraries of this system.
target_link_libraries(gpt2_portable_cli PRIVATE gpt2_options $<TARGET_FILE:gpt2> Threads::Threads)
add_dependencies(gpt2_portable_cli gpt2)
set_target_properties(gpt2_portable_cli PROPERTIES
  OUTPUT_NAME gpt2 RUNTIME_OUTPUT_DIRECTORY ${gpt2_portable_dir}/bin
  LINK_DEPENDS $<TARGET_FILE:gpt2> INSTALL_RPATH "$ORIGIN/${gpt2_bin_to_lib}")
set_target_properties(gpt2_portable_shared PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${gpt2_portable_dir}/lib INSTALL_RPATH "$ORIGIN")
foreach(target gpt2_portable_shared gpt2_portable_cli)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON BUILD_WITH_INSTALL_RPATH ON)
  target_link_libraries(${target} PRIVATE ${UTF8PROC_STATIC_LIBRARY} gpt2_portable_openmp)
  target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections)
endforeach()
add_custom_target(gpt2_portable DEPENDS gpt2_portable_shared gpt2_portable_cli)

# -- The licences of what the packages contain of other projects ---------------------------------

set(gpt2_licenses_dir ${gpt2_portable_dir}/licenses)
set(gpt2_debian_packages libgomp1 libutf8proc-dev nlohmann-json3-dev)
execute_process(COMMAND dpkg-query --show "--showformat=  \${Package} \${Version}\n"
                        ${gpt2_debian_packages}
                OUTPUT_VARIABLE gpt2_debian_versions ERROR_QUIET)
configure_file(tools/cmake/THIRD_PARTY.in ${gpt2_licenses_dir}/THIRD_PARTY @ONLY)
foreach(package IN LISTS gpt2_debian_packages)
  if(EXISTS /usr/share/doc/${package}/copyright)
    configure_file(/usr/share/doc/${package}/copyright ${gpt2_licenses_dir}/${package} COPYONLY)
  endif()
endforeach()

install(PROGRAMS $<TARGET_FILE:gpt2_portable_cli> DESTINATION ${CMAKE_INSTALL_BINDIR}
        COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES $<TARGET_FILE:gpt2_portable_shared> $<TARGET_SONAME_FILE:gpt2_portable_shared>
              $<TARGET_LINKER_FILE:gpt2_portable_shared> ${gpt2_portable_openmp}
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT portable EXCLUDE_FROM_ALL)
install(DIRECTORY ${gpt2_licenses_dir} DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT portable EXCLUDE_FROM_ALL)
