# Makes the list of symbols that gpt2.dll exports. On other systems, exports.map is enough, because it
# exports only visible symbols of the namespace. GCC for Windows has no visibility, so this list names
# the classes and functions that the public headers declare. Their declarations begin in the first
# column, because .clang-format does not indent what lies in a namespace.
file(GLOB gpt2_public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/gpt2/*.h)
list(FILTER gpt2_public_headers EXCLUDE REGEX "/gpt2\\.h$")  # its functions are gpt2_*
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${gpt2_public_headers})

set(gpt2_names "")
foreach(header IN LISTS gpt2_public_headers)
  file(READ ${header} text)
  string(REPLACE "[[nodiscard]] " "" text "${text}")
  string(REGEX MATCHALL "\n(class|struct) [A-Za-z0-9]+" classes "${text}")
  foreach(class IN LISTS classes)
    string(REGEX REPLACE ".* " "" class "${class}")
    list(APPEND gpt2_names "gpt2::${class}::*" "*for?gpt2::${class}")  # typeinfo for, vtable for
  endforeach()
  string(REGEX MATCHALL "\n[A-Za-z][^\n(]* [a-z_]+\\(" functions "${text}")
  foreach(function IN LISTS functions)
    string(REGEX REPLACE ".* ([a-z_]+)\\($" "\\1" function "${function}")
    list(APPEND gpt2_names "gpt2::${function}[!a-z_]*")  # a parenthesis or [abi:cxx11]
  endforeach()
endforeach()
list(REMOVE_DUPLICATES gpt2_names)
list(JOIN gpt2_names ";\n      " gpt2_names)
set(gpt2_exports ${PROJECT_BINARY_DIR}/exports.map)
file(WRITE ${gpt2_exports} "{
  global:
    gpt2_*;
    extern \"C++\" {
      ${gpt2_names};
    };
  local:
    *;
};
")
