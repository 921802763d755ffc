# Makes texts a part of a target, as arrays of pieces, because compilers limit the length of a string.

# embed_text(TARGET HEADER NAMESPACE NAME TEXT)
#
# The header HEADER declares NAME, an array of std::string_view, in NAMESPACE.
function(embed_text target header namespace name text)
  set(pieces "")
  string(LENGTH "${text}" length)
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${text}" ${begin} 15000 piece)
    string(APPEND pieces "    R\"piece(${piece})piece\",\n")
    math(EXPR begin "${begin} + 15000")
  endwhile()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(file ${generated}/${header})
  file(WRITE ${file}.new "#pragma once
#include <string_view>
namespace ${namespace} {
/// The pieces of the text.
inline constexpr std::string_view ${name}[] = {
${pieces}};
}
")
  configure_file(${file}.new ${file} COPYONLY)  # only if it has changed
  target_include_directories(${target} PRIVATE ${generated})
endfunction()

# join_page(RESULT FOLDER [SCRIPT...])
#
# Joins the files in src/FOLDER/page/ to one page. In page.html, @STYLE@ stands for style.css and
# @SCRIPT@ for the scripts, which follow one another in name order. A SCRIPT takes the place of the
# one with the same name.
function(join_page result folder)
  set(source ${PROJECT_SOURCE_DIR}/src/${folder}/page)
  file(GLOB scripts CONFIGURE_DEPENDS ${source}/*.js)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME)
    list(TRANSFORM scripts REPLACE "^.*/${name}$" ${file})
  endforeach()
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
  set(${result} "${page}" PARENT_SCOPE)
endfunction()

# embed_page(TARGET FOLDER NAMESPACE)
#
# Makes a page a part of a target: the header FOLDER/page_template.h declares kPageTemplate.
function(embed_page target folder namespace)
  join_page(page ${folder})
  embed_text(${target} ${folder}/page_template.h ${namespace} kPageTemplate "${page}")
endfunction()
