#include "c_api/arguments.h"

#include <limits>

namespace gpt2::c_api {

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) reject(std::string(name) + " is NULL");
}

void require_array(const void* pointer, std::size_t count, std::size_t element_size,
                   const char* name) {
  if (count == 0) return;
  const std::string length = std::to_string(count);
  if (pointer == nullptr) reject(std::string(name) + " is NULL, but its length is " + length);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_size) {
    reject(std::string(name) + " has the length " + length + ", more than any memory holds");
  }
}

void require_value(std::int32_t value, std::int32_t last, const char* name) {
  if (value < 0 || value > last) {
    reject(std::string(name) + " is " + std::to_string(value) +
           ", which has no meaning: expected 0 to " + std::to_string(last));
  }
}

std::vector<TokenId> list_of(const gpt2_ids& ids, const char* name) {
  return list_of(ids.data, ids.count, name);
}

std::vector<std::vector<TokenId>> lists_of(const gpt2_ids* lists, std::size_t count,
                                           const char* name) {
  std::vector<std::vector<TokenId>> result;
  for (const gpt2_ids& list : span_of(lists, count, name)) {
    const std::string item = "item " + std::to_string(result.size()) + " of " + name;
    result.push_back(list_of(list, item.c_str()));
  }
  return result;
}

std::string_view text_of(const char* data, std::size_t size, const char* name) {
  require_array(data, size, 1, name);
  return {data, size};
}

std::string c_string(const char* text, const char* name) {
  require(text, name);
  return text;
}

// On Windows, the constructor of a path would read chars in another encoding.
std::filesystem::path c_path(const char* text, const char* name) {
  require(text, name);
  return reinterpret_cast<const char8_t*>(text);
}

std::vector<MemoryFile> files_of(const gpt2_memory_file* files, std::size_t count) {
  std::vector<MemoryFile> result;
  for (const gpt2_memory_file& file : span_of(files, count, "the list of files")) {
    require(file.name, "the name of a file");
    const auto* const data = static_cast<const std::byte*>(file.data);
    result.push_back({.name = file.name, .bytes = span_of(data, file.size, "the data of a file")});
  }
  return result;
}

}  // namespace gpt2::c_api
