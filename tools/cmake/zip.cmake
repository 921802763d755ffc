# What an installation for Windows contains of other projects: utf8proc, which programs with
# libgpt2.a have to link and which Windows has no package of, and the licences of all libraries that
# are linked into the programs. tools/zip.sh packs the installation as a .zip.
install(FILES ${UTF8PROC_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(gpt2_licenses_dir ${PROJECT_BINARY_DIR}/licenses)
execute_process(COMMAND dpkg-query --show "--showformat=  \${Package} \${Version}\n"
                        gcc-mingw-w64-x86-64-posix mingw-w64-x86-64-dev
                OUTPUT_VARIABLE gpt2_debian_versions ERROR_QUIET)
configure_file(tools/cmake/THIRD_PARTY_windows.in ${gpt2_licenses_dir}/THIRD_PARTY @ONLY)
foreach(copyright /usr/share/doc/gcc-mingw-w64-base /usr/share/doc/mingw-w64-common
                  ${GPT2_SYSROOT}/usr/share/doc/libutf8proc-dev
                  ${GPT2_SYSROOT}/usr/share/doc/nlohmann-json3-dev)
  get_filename_component(package ${copyright} NAME)
  if(EXISTS ${copyright}/copyright)
    configure_file(${copyright}/copyright ${gpt2_licenses_dir}/${package} COPYONLY)
  endif()
endforeach()
install(DIRECTORY ${gpt2_licenses_dir} DESTINATION ${CMAKE_INSTALL_DOCDIR})
