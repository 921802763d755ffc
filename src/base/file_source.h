#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "base/mapped_file.h"
#include "gpt2/memory_file.h"

namespace gpt2 {

/// Where the files of a model are read from: the file system, or a caller's files in memory, whose
/// names then are the paths.
class FileSource {
 public:
  /// The file system.
  FileSource() = default;

  /// These files alone. The list must live as long as the source and its copies. Throws
  /// Error(invalid_argument) if two of them have the same name.
  explicit FileSource(std::span<const MemoryFile> files);

  [[nodiscard]] bool is_memory() const noexcept { return memory_.has_value(); }

  /// As is_there(path) for the file system. Throws as it does.
  [[nodiscard]] bool has(const std::filesystem::path& path) const;

  /// The bytes of a file. Throws as MappedFile does.
  [[nodiscard]] MappedFile open(const std::filesystem::path& path) const;

 private:
  [[nodiscard]] const MemoryFile* find(const std::filesystem::path& path) const noexcept;

  std::optional<std::span<const MemoryFile>> memory_;
};

}  // namespace gpt2
