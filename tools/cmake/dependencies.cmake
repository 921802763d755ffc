# Looks for every dependency on the system first. A missing one is downloaded from its own project,
# which needs an internet connection.
include(FetchContent)

if(EMSCRIPTEN)  # one thread
  add_library(Threads::Threads INTERFACE IMPORTED)
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
else()
  find_package(Threads REQUIRED)
endif()

# Part of the compiler: g++ brings libgomp along, clang++ needs libomp (Debian: libomp-dev). CMake
# does not look where Homebrew has it, because Homebrew keeps it apart from its other libraries.
if(APPLE AND NOT OpenMP_ROOT)
  execute_process(COMMAND brew --prefix libomp OUTPUT_VARIABLE OpenMP_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EMSCRIPTEN)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()

find_package(nlohmann_json 3.10.5 QUIET)
if(NOT nlohmann_json_FOUND)
  FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git
                       GIT_TAG v3.11.3 GIT_SHALLOW TRUE)
  FetchContent_MakeAvailable(nlohmann_json)
endif()

# The utf8proc package of Debian 12 has no CMake file, so this makes a target from the header and
# the library.
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h)
find_library(UTF8PROC_LIBRARY utf8proc)
if(UTF8PROC_INCLUDE_DIR AND UTF8PROC_LIBRARY)
  add_library(utf8proc UNKNOWN IMPORTED)
  set_target_properties(utf8proc PROPERTIES IMPORTED_LOCATION ${UTF8PROC_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${UTF8PROC_INCLUDE_DIR})
else()
  FetchContent_Declare(utf8proc GIT_REPOSITORY https://github.com/JuliaStrings/utf8proc.git
                       GIT_TAG v2.9.0 GIT_SHALLOW TRUE)
  FetchContent_MakeAvailable(utf8proc)
endif()

if(GPT2_BUILD_CLI)
  # libedit has no CMake build to download. Without it, gpt2 --interactive reads plain lines.
  find_path(LIBEDIT_INCLUDE_DIR histedit.h)
  find_library(LIBEDIT_LIBRARY edit)
  # libmicrohttpd has no CMake build either. Without it, the command has no gpt2 serve.
  find_path(MICROHTTPD_INCLUDE_DIR microhttpd.h)
  find_library(MICROHTTPD_LIBRARY microhttpd)
  set(gpt2_has_microhttpd OFF)
  if(MICROHTTPD_INCLUDE_DIR AND MICROHTTPD_LIBRARY)
    set(gpt2_has_microhttpd ON)
  endif()
  option(GPT2_BUILD_SERVER "Build gpt2 serve (needs libmicrohttpd)" ${gpt2_has_microhttpd})
endif()

# Catch2 3 is preferred, but 2.13 (Debian 12) works too. tests/support/catch.h hides the difference.
if(GPT2_BUILD_TESTS)
  find_package(Catch2 3 QUIET)
  if(NOT Catch2_FOUND)
    find_package(Catch2 2.13 QUIET)
  endif()
  if(NOT Catch2_FOUND)
    FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git
                         GIT_TAG v3.7.1 GIT_SHALLOW TRUE)
    FetchContent_MakeAvailable(Catch2)
  endif()
endif()
