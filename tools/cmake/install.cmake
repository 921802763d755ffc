# The rules of cmake --install. They install the library and its headers, for find_package(gpt2) and
# for pkg-config; the command with its man pages and completions; and the bundled model. The
# installed files can be moved to another prefix together.

set(gpt2_bundled_model gpt2-stories)
file(RELATIVE_PATH gpt2_bin_to_data ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/gpt2)
file(RELATIVE_PATH gpt2_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH gpt2_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" gpt2_pc_to_prefix "${gpt2_pc_to_prefix}")

if(NOT gpt2_is_top_level)  # programs of a project that includes this one read the model from here
  set(gpt2_bin_to_data ${PROJECT_SOURCE_DIR})
endif()
set_source_files_properties(src/formats/find_model.cpp PROPERTIES
                            COMPILE_DEFINITIONS GPT2_DATA_DIR="${gpt2_bin_to_data}")
target_compile_definitions(gpt2 PRIVATE GPT2_BUNDLED_MODEL="${gpt2_bundled_model}")
if(GPT2_BUILD_CLI)
  foreach(objects gpt2_cli_objects gpt2_serve_objects)
    if(TARGET ${objects})
      target_compile_definitions(${objects} PRIVATE GPT2_BUNDLED_MODEL="${gpt2_bundled_model}")
    endif()
  endforeach()
endif()

if(NOT GPT2_INSTALL)
  return()
endif()

# -- The library ---------------------------------------------------------------------------------

set(gpt2_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gpt2)

include(CMakePackageConfigHelpers)
configure_package_config_file(
  tools/cmake/gpt2Config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/gpt2Config.cmake
  INSTALL_DESTINATION ${gpt2_cmake_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/gpt2ConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
list(TRANSFORM gpt2_system_libraries PREPEND " -l" OUTPUT_VARIABLE gpt2_pc_libraries)
configure_file(tools/cmake/gpt2.pc.in gpt2.pc @ONLY)

install(TARGETS gpt2 EXPORT gpt2Targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What is linked with the libraries of this system is the component "system". A portable package has
# the component "portable" instead.
install(TARGETS gpt2_shared EXPORT gpt2Targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT system NAMELINK_COMPONENT system
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT system   # the import library of
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT system)  # gpt2.dll
install(EXPORT gpt2Targets NAMESPACE gpt2:: DESTINATION ${gpt2_cmake_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpt2Config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/gpt2ConfigVersion.cmake DESTINATION ${gpt2_cmake_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpt2.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY include/gpt2 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# -- The command and its model -------------------------------------------------------------------

if(GPT2_BUILD_CLI)
  install(TARGETS gpt2_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT system)
  # The man pages are made from what the command's --help prints, so the command must run here.
  if(NOT CMAKE_CROSSCOMPILING)
    set(gpt2_man_dir ${CMAKE_CURRENT_BINARY_DIR}/man)
    add_custom_command(
      OUTPUT ${gpt2_man_dir}/gpt2.1 DEPENDS gpt2_cli tools/man_pages.sh VERBATIM
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/man_pages.sh $<TARGET_FILE:gpt2_cli>
              ${gpt2_man_dir})
    add_custom_target(gpt2_man_pages ALL DEPENDS ${gpt2_man_dir}/gpt2.1)
    install(DIRECTORY ${gpt2_man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  if(NOT WIN32)
    install(FILES tools/completions/gpt2.bash RENAME gpt2
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES tools/completions/_gpt2 DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES tools/completions/gpt2.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
  install(DIRECTORY models/${gpt2_bundled_model} DESTINATION ${CMAKE_INSTALL_DATADIR}/gpt2/models
          OPTIONAL)
  # The authors and the licences of the model's training data.
  install(FILES models/README.md models/ATTRIBUTION
          DESTINATION ${CMAKE_INSTALL_DATADIR}/gpt2/models)
endif()
