# A module for each instruction set: gpt2.wasm and gpt2_relaxed.wasm. It is standalone: what it
# imports, gpt2.mjs provides.
set_property(SOURCE src/formats/find_model.cpp PROPERTY COMPILE_DEFINITIONS
             GPT2_DATA_DIR=\"\";GPT2_BUNDLED_MODEL=\"gpt2-stories\")
set(functions room text size file add open describe begin step end)
list(TRANSFORM functions PREPEND _gpt2_web_)
list(JOIN functions "," functions)
foreach(isa IN LISTS gpt2_isas)
  set(module gpt2_web_${isa})
  add_executable(${module} src/web/web.cpp src/kernels/dispatch.cpp
                 $<TARGET_OBJECTS:gpt2_kernels_${isa}>)
  target_compile_options(${module} PRIVATE ${gpt2_isa_flags_${isa}})
  target_include_directories(${module} PRIVATE src)
  target_link_libraries(${module} PRIVATE gpt2 gpt2_options nlohmann_json::nlohmann_json)
  target_link_options(${module} PRIVATE --no-entry -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH
                      -sMAXIMUM_MEMORY=4GB -sERROR_ON_UNDEFINED_SYMBOLS=0  # random_get
                      -sWARN_ON_UNDEFINED_SYMBOLS=0 -sEXPORTED_FUNCTIONS=${functions})
  set_target_properties(${module} PROPERTIES OUTPUT_NAME gpt2 SUFFIX .wasm
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${isa})
  if(isa STREQUAL "wasm_relaxed")
    set_target_properties(${module} PROPERTIES OUTPUT_NAME gpt2_relaxed)
    add_custom_command(TARGET ${module} POST_BUILD COMMAND
                       python3 ${PROJECT_SOURCE_DIR}/src/web/relaxed.py $<TARGET_FILE:${module}>)
  endif()
endforeach()

# The site: gpt2 serve's page with a model instead of a server.
include(tools/cmake/embed_text.cmake)
join_page(page serve ${PROJECT_SOURCE_DIR}/src/web/20_server.js)
file(WRITE ${PROJECT_BINARY_DIR}/index.html "${page}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/web/20_server.js)
