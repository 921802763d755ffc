# embed_page(TARGET FOLDER NAMESPACE)
#
# Joins the files in src/FOLDER/page/ to one page, a text that becomes a part of the target: the
# header FOLDER/page_template.h defines kPageTemplate. In page.html, @STYLE@ stands for style.css and
# @SCRIPT@ for the scripts, which follow one another in name order. The text is an array of pieces,
# because compilers limit the length of a string.
function(embed_page target folder namespace)
  set(source ${PROJECT_SOURCE_DIR}/src/${folder}/page)
  file(GLOB scripts CONFIGURE_DEPENDS ${source}/*.js)
  file(READ ${source}/page.html page)
  file(READ ${source}/style.css style)
  set(script "")
  foreach(file IN LISTS scripts)
    file(READ ${file} text)
    string(APPEND script "${text}")
  endforeach()
  string(REPLACE "@STYLE@" "${style}" page "${page}")
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${source}/page.html ${source}/style.css ${scripts})

  set(pieces "")
  string(LENGTH "${page}" length)
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${page}" ${begin} 15000 piece)
    string(APPEND pieces "    R\"page(${piece})page\",\n")
    math(EXPR begin "${begin} + 15000")
  endwhile()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(header ${generated}/${folder}/page_template.h)
  file(WRITE ${header}.new "#pragma once
#include <string_view>
namespace ${namespace} {
/// The pieces of the page.
inline constexpr std::string_view kPageTemplate[] = {
${pieces}};
}
")
  configure_file(${header}.new ${header} COPYONLY)  # only if it has changed
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
