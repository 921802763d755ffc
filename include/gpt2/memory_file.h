#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace [[gnu::visibility("default")]] gpt2 {

/// A file of a model that lies in memory, for programs that keep a model among their own data. A
/// list of such files takes the place of a directory in Model::load and Tokenizer::load.
///
/// The bytes are read as those of a file would be. They may begin at any address. The same bytes
/// give the same results at every address, but matrices at an address that is not a multiple of 64
/// may be read more slowly.
///
/// A plain value: copies refer to the same bytes, and threads may read one at the same time.
///
/// Example:
///   const auto file_of = [](std::string_view name, std::string_view content) {
///     return MemoryFile{.name = name, .bytes = std::as_bytes(std::span(content))};
///   };
///   const MemoryFile files[] = {file_of("config.json", R"({"model_type": "gpt2"})"),
///                               file_of("model.safetensors", "the bytes of that file")};
struct MemoryFile {
  /// The name that the file would have in a model's directory, such as "config.json",
  /// "model.safetensors", "vocab.json" or "merges.txt". Error messages name the file so. It has to
  /// live only as long as the call that reads the file.
  std::string_view name;

  /// The content. It must not change while it is in use. The readers that take such files say for
  /// how long that is.
  std::span<const std::byte> bytes;

  /// What keeps the bytes alive, for example the vector that they lie in. A model that uses the
  /// bytes in place holds a copy of this pointer. Empty: the caller keeps the bytes alive.
  std::shared_ptr<const void> owner = {};
};

}  // namespace gpt2
