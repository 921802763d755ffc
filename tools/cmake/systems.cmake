# What differs between operating systems is in sources whose names end in _SYSTEM.cpp, for example
# src/base/system/system_linux.cpp. This is the only place that chooses among them.
set(gpt2_system_libraries "")
if(WIN32)
  set(gpt2_systems windows)
  set(gpt2_system_libraries synchronization)  # for system_windows.cpp
elseif(EMSCRIPTEN)
  set(gpt2_systems web)
elseif(APPLE)
  set(gpt2_systems posix macos)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(gpt2_systems posix linux)
else()
  message(FATAL_ERROR "gpt2.cpp supports Linux, macOS and Windows only: the sources in src/ whose "
                      "names end in _linux.cpp have no counterparts for ${CMAKE_SYSTEM_NAME}")
endif()

# The headers of Windows define many macros. No other source may see them, not even in a unity build.
if(WIN32)
  add_compile_definitions(NOMINMAX WIN32_LEAN_AND_MEAN)
  file(GLOB_RECURSE gpt2_windows_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*_windows.cpp)
  set_source_files_properties(${gpt2_windows_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

# Removes the sources of other systems from a list.
function(gpt2_keep_sources_of_system list)
  set(others posix linux macos windows web)
  list(REMOVE_ITEM others ${gpt2_systems})
  list(JOIN others "|" others)
  list(FILTER ${list} EXCLUDE REGEX "_(${others})(_test)?\\.cpp$")
  if(NOT WIN32)  # whose library has no exact one
    list(FILTER ${list} EXCLUDE REGEX "/fmaf\\.cpp$")
  endif()
  if(EMSCRIPTEN)  # team_web.cpp has all that two of these have; web.cpp is the only door
    list(FILTER ${list} EXCLUDE REGEX "base/(team|thread_count)\\.cpp$|src/c_api/")
  endif()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
