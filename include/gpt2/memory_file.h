#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace [[gnu::visibility("default")]] gpt2 {

/// A model file in memory, for programs that keep a model among their own data. Model::load and
/// Tokenizer::load accept a list of such files instead of a directory.
///
/// The bytes may begin at any address. They give the same results at every address, but matrices at
/// an address that is not a multiple of 64 may be read more slowly.
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
  /// "model.safetensors", "vocab.json" or "merges.txt". Error messages use this name. It has to
  /// live only until the call that reads the file returns.
  std::string_view name;

  /// The content. It must not change while it is in use. Model::load and Tokenizer::load document
  /// how long they use it.
  std::span<const std::byte> bytes;

  /// Keeps the bytes alive: it owns, for example, the vector that contains them. A model that uses
  /// the bytes in place holds a copy of this pointer. Empty: the caller keeps the bytes alive.
  std::shared_ptr<const void> owner = {};
};

}  // namespace gpt2
