#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "gpt2/model_files.h"

namespace gpt2 {

/// The source of a model's files: the file system, or a list of files in memory. In a list, the
/// path of a file is its name.
class FileSource {
 public:
  FileSource() = default;

  explicit FileSource(FileAccess access) : access_(access) {}

  /// Reads from these files only. The list must outlive this object and its copies. Takes
  /// O(n log n) time. Throws Error(invalid_argument) if two of the files have the same name.
  explicit FileSource(std::span<const MemoryFile> files);

  [[nodiscard]] bool is_memory() const noexcept { return memory_.has_value(); }

  /// Returns whether the file exists. Throws the errors of is_there().
  [[nodiscard]] bool has(const std::filesystem::path& path) const;

  /// Opens a file. Throws the same errors as the constructor of MappedFile, and Error(not_found) if
  /// the file is not in the list.
  [[nodiscard]] MappedFile open(const std::filesystem::path& path) const;

 private:
  [[nodiscard]] const MemoryFile* find(const std::filesystem::path& path) const;

  // By name. A hash table would take quadratic time for names that are chosen to collide.
  std::optional<std::map<std::string_view, const MemoryFile*>> memory_;
  FileAccess access_ = FileAccess::map;
};

/// Returns the content of a text file. Throws the errors of FileSource::open. Throws
/// Error(invalid_file) if the file is a git-lfs pointer or has more than `max_bytes` bytes. The
/// size is checked before memory for the content is allocated.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes,
                                    const FileSource& source = {});

}  // namespace gpt2
