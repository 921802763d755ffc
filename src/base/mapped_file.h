#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace gpt2 {

/// A file's bytes, mapped read-only for as long as the object or a copy of it lives, at the same
/// addresses. An empty file is an empty span.
///
/// The file must not be shortened while it is mapped: the operating system ends a process that
/// reads a page whose file has gone (SIGBUS), and no library can prevent that.
class MappedFile {
 public:
  /// Throws Error: not_found if there is no such file, invalid_file if it cannot be read or is not
  /// a regular file (a directory, a pipe).
  explicit MappedFile(const std::filesystem::path& path);

  /// A caller's bytes in place of a file's. `owner`, if there is one, keeps them alive.
  MappedFile(Bytes bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), mapping_(std::move(owner)), is_file_(false) {}

  [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }

  /// Takes the pages of `part` out of the process's memory, if `part` lies in this file; otherwise,
  /// or if the bytes are a caller's, does nothing. The bytes stay the same: a page that is read
  /// again is read from the file.
  void drop_pages(Bytes part) const noexcept;

 private:
  Bytes bytes_;
  std::shared_ptr<const void> mapping_;
  bool is_file_ = true;
};

}  // namespace gpt2
