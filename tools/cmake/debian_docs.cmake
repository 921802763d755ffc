# The files that Debian expects in /usr/share/doc/PACKAGE. CPack runs this when it has installed the
# files of a package, before it packs them.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
file(GLOB_RECURSE license ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/share/doc/gpt2/LICENSE)
get_filename_component(directory ${license} DIRECTORY)
file(RENAME ${license} ${directory}/copyright)
file(APPEND ${directory}/copyright "
The texts that the bundled model was trained on have licences of their own, which
/usr/share/gpt2/models/ATTRIBUTION names.
")
file(COPY ${CPACK_GPT2_CHANGELOG} DESTINATION ${directory})
file(RENAME ${directory}/CHANGELOG.md ${directory}/changelog)
execute_process(COMMAND gzip -9n ${directory}/changelog COMMAND_ERROR_IS_FATAL ANY)
