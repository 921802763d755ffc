# The components of each package. CPack reads this file once for each kind of package, after its
# list of what to install: the build directory, the project, all components, and the place.
list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 gpt2_build)
set(gpt2_part system)
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(gpt2_part portable)
endif()
set(CPACK_INSTALL_CMAKE_PROJECTS "${gpt2_build};gpt2;Unspecified;/"
                                 "${gpt2_build};gpt2;${gpt2_part};/")
