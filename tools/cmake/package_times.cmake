# If SOURCE_DATE_EPOCH is set, gives all files of a package this time, so that two builds make the
# same bytes. CPack runs this when it has installed the files, before it packs them.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
                          -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
