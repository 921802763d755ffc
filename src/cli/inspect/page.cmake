# The page that `gpt2 inspect -o` writes is made of the files in page/. They are joined into one text
# here, which becomes a string of the command. The scripts follow one another in name order.
set(page_folder ${CMAKE_CURRENT_SOURCE_DIR}/src/cli/inspect/page)
file(GLOB page_scripts CONFIGURE_DEPENDS ${page_folder}/*.js)
file(READ ${page_folder}/page.html page)
file(READ ${page_folder}/style.css page_style)
set(page_script "")
foreach(script IN LISTS page_scripts)
  file(READ ${script} text)
  string(APPEND page_script "${text}")
endforeach()
string(REPLACE "@STYLE@" "${page_style}" page "${page}")
string(REPLACE "@SCRIPT@" "${page_script}" page "${page}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${page_folder}/page.html ${page_folder}/style.css ${page_scripts})

set(page_header ${CMAKE_CURRENT_BINARY_DIR}/generated/cli/inspect/page_template.h)
file(WRITE ${page_header}.new "#pragma once
#include <string_view>
namespace gpt2::cli {
/// The page, with @DATA@ where the report belongs.
inline constexpr std::string_view kPageTemplate = R\"page(${page})page\";
}
")
configure_file(${page_header}.new ${page_header} COPYONLY)  # only if it has changed
target_include_directories(gpt2_cli_objects PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
