# Puts files where Debian expects them, and in the form that it expects. CPack runs this when it has
# installed the files of a package, before it packs them.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
file(GLOB_RECURSE license ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/share/doc/gpt2/LICENSE)
get_filename_component(docs ${license} DIRECTORY)
get_filename_component(share ${docs}/../.. ABSOLUTE)

file(RENAME ${license} ${docs}/copyright)
file(APPEND ${docs}/copyright "
The texts that the bundled model was trained on have licences of their own, which
/usr/share/gpt2/models/ATTRIBUTION names.
")
file(COPY ${CPACK_GPT2_CHANGELOG} DESTINATION ${docs})
file(RENAME ${docs}/CHANGELOG.md ${docs}/changelog)
file(GLOB pages ${share}/man/man1/*)
execute_process(COMMAND gzip -9n ${docs}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)

# Debian's zsh does not look in site-functions.
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
