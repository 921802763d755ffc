# What CPack makes of an installation: a .deb, and a .tar.gz for other distributions.
# tools/package.sh makes both.
set(CPACK_PACKAGE_NAME gpt2)
set(CPACK_PACKAGE_VENDOR "the gpt2.cpp authors")
# The maintainer of a package is who wrote the last commit, or else the authors, without an address.
execute_process(COMMAND git log -1 "--format=%an <%ae>" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE CPACK_PACKAGE_CONTACT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT ${CPACK_PACKAGE_VENDOR})
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs GPT-2 language models on the CPU")
set(CPACK_PACKAGE_DESCRIPTION "The command gpt2, the library of the same name for C++ and C, and a
small model that writes stories. Reads HuggingFace checkpoints as they are.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME gpt2-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/tools/cmake/package_parts.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # depends on the packages of the linked libraries
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libutf8proc-dev")  # for programs that link the static library
set(CPACK_GPT2_CHANGELOG ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/cmake/debian_files.cmake
                            ${PROJECT_SOURCE_DIR}/tools/cmake/package_times.cmake)

include(CPack)
