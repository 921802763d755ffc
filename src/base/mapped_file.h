#pragma once

#include <filesystem>

#include "base/bytes.h"

namespace gpt2 {

/// A file's bytes, mapped read-only for as long as the object lives. Move-only; moving keeps the
/// addresses. An empty file is an empty span.
///
/// The file must not be shortened while it is mapped: the operating system ends a process that
/// reads a page whose file has gone (SIGBUS), and no library can prevent that.
class MappedFile {
 public:
  /// Throws Error: not_found where there is no such file, invalid_file where it cannot be read or
  /// is no regular file (a directory, a pipe).
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;

  [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace gpt2
