# The command and the bundled model as one file that needs no shared library, for any Linux of its
# architecture.
#
# It is linked with glibc and not with musl, for which Debian has no C++ library. A static glibc
# still needs shared libraries for the names of hosts and users, for character sets and for dlopen();
# the command uses none of these. libgomp calls dlopen() for code that runs on accelerators, which
# the command has none of, so the linker's warning about it is not true here. As in portable.cmake,
# there is neither libedit nor libmicrohttpd.
find_library(UTF8PROC_STATIC_LIBRARY libutf8proc.a)
if(NOT UTF8PROC_STATIC_LIBRARY)
  return()
endif()

# The bundled model is a part of the file, with the licences of what it was trained on.
# src/base/system/process.h describes this array.
set(models ${PROJECT_SOURCE_DIR}/models)
file(GLOB files CONFIGURE_DEPENDS ${models}/${gpt2_bundled_model}/* ${models}/ATTRIBUTION)
set(data "")
set(symbols "")
set(elements "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER "file_${name}" symbol)
  string(APPEND data "    .balign 4096\n${symbol}: .incbin \"${file}\"\n${symbol}_end:\n")
  string(APPEND symbols "extern \"C\" const std::byte ${symbol}[], ${symbol}_end[];\n")
  string(APPEND elements "    {MODEL \"/${name}\", ${symbol}, ${symbol}_end},\n")
endforeach()
set(built_in ${PROJECT_BINARY_DIR}/generated/built_in_files.cpp)
file(WRITE ${built_in}.new "#include \"base/system/process.h\"
asm(R\"(    .pushsection .rodata
${data}    .popsection)\");
${symbols}extern \"C\" [[gnu::visibility(\"hidden\")]] const gpt2::BuiltInFile gpt2_built_in_files[] = {
    {MODEL, nullptr, nullptr},
${elements}    {nullptr, nullptr, nullptr}};
")
configure_file(${built_in}.new ${built_in} COPYONLY)  # only if it has changed
set_source_files_properties(${built_in} PROPERTIES OBJECT_DEPENDS "${files}"
  COMPILE_DEFINITIONS MODEL="/proc/self/exe/${gpt2_bundled_model}")

add_executable(gpt2_static_cli EXCLUDE_FROM_ALL ${gpt2_command_objects} ${built_in}
               src/cli/terminal/editor_plain.cpp src/cli/serve_missing.cpp)
target_include_directories(gpt2_static_cli PRIVATE src include)
# This names the file of the library, because the target would add the libraries of this system.
target_link_libraries(gpt2_static_cli PRIVATE gpt2_options $<TARGET_FILE:gpt2>
                      ${UTF8PROC_STATIC_LIBRARY})
add_dependencies(gpt2_static_cli gpt2)
target_link_options(gpt2_static_cli PRIVATE -static -fopenmp -Wl,--gc-sections)
set_target_properties(gpt2_static_cli PROPERTIES
  OUTPUT_NAME gpt2 RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/static
  LINK_DEPENDS $<TARGET_FILE:gpt2>)
