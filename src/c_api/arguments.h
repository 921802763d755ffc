#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c_api/guard.h"
#include "gpt2/model_files.h"
#include "gpt2/types.h"

// Checks of the arguments that C programs pass. All of these functions throw
// Error(invalid_argument). `name` is the name of the argument in messages.

namespace gpt2::c_api {

/// Throws if the pointer is NULL.
void require(const void* pointer, const char* name);

/// Throws if the pointer is NULL and count is not 0, or if so many elements would not fit in
/// memory.
void require_array(const void* pointer, std::size_t count, std::size_t element_size,
                   const char* name);

/// Throws unless `value` is from 0 to `last`.
void require_value(std::int32_t value, std::int32_t last, const char* name);

/// Returns a span of the caller's array.
template <class Element>
std::span<Element> span_of(Element* data, std::size_t count, const char* name) {
  require_array(data, count, sizeof(Element), name);
  return {data, count};
}

/// Returns a copy of the caller's array.
template <class Element>
std::vector<Element> list_of(const Element* data, std::size_t count, const char* name) {
  const std::span<const Element> elements = span_of(data, count, name);
  return {elements.begin(), elements.end()};
}

std::vector<TokenId> list_of(const gpt2_ids& ids, const char* name);
std::vector<std::vector<TokenId>> lists_of(const gpt2_ids* lists, std::size_t count,
                                           const char* name);

std::string_view text_of(const char* data, std::size_t size, const char* name);

/// Returns a name or a path, which ends with a zero byte, as a string.
std::string c_string(const char* text, const char* name);

/// Returns a path that is written like this in UTF-8.
std::filesystem::path c_path(const char* text, const char* name);

/// Returns the caller's files. Their contents are not copied.
std::vector<MemoryFile> files_of(const gpt2_memory_file* files, std::size_t count);

}  // namespace gpt2::c_api
