#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace gpt2 {

enum class FileAccess {
  map,   ///< the system reads a page when it is used; processes share it
  copy,  ///< all of them are read at once, so that what happens to the file later has no effect
};

/// The bytes of a file that is mapped read-only. They stay mapped, at the same addresses, as long
/// as this object or a copy of it lives. For an empty file, the span is empty.
///
/// The file must not be shortened while it is mapped. If a process reads a page that the file no
/// longer has, the operating system ends the process with SIGBUS, and no library can prevent that.
/// FileAccess::copy is for files that others may shorten.
class MappedFile {
 public:
  /// Throws Error(not_found) if there is no such file, Error(invalid_file) if it cannot be read or
  /// is not a regular file (a directory, a pipe), and the error of refuse_nul(). A copy throws
  /// std::bad_alloc if there is no memory for it.
  explicit MappedFile(const std::filesystem::path& path, FileAccess access = FileAccess::map);

  /// Uses bytes that are in memory already. If `owner` is not null, it keeps the bytes alive;
  /// otherwise they must outlive this object and its copies.
  MappedFile(Bytes bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), mapping_(std::move(owner)), is_file_(false) {}

  [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }

  /// Releases the memory of the pages that contain `part`. The bytes do not change: if such a page
  /// is read later, the system reads it from the file again. Does nothing if `part` does not lie in
  /// this file, if the file was copied, or if this object was constructed from bytes in memory.
  void drop_pages(Bytes part) const noexcept;

 private:
  void open(const std::filesystem::path& path, FileAccess access);

  Bytes bytes_;
  std::shared_ptr<const void> mapping_;
  bool is_file_ = true;
};

}  // namespace gpt2
