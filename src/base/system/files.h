#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>

namespace gpt2 {

/// What the system could not do with a file, and why. ReadableFile throws it.
struct FileFailure {
  const char* what;
  std::error_code reason;
};

/// A file that the system has opened for reading. All functions throw FileFailure.
class ReadableFile {
 public:
  enum class Kind { regular, directory, other };

  /// Opens a file, or something else that has a name (a directory, a pipe), without waiting.
  explicit ReadableFile(const std::filesystem::path& path);
  ~ReadableFile();
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Maps the whole file read-only. It stays mapped, even if this object is destroyed, as long as
  /// the result or a copy of it lives. REQUIRES: a regular file whose size is not 0.
  [[nodiscard]] std::shared_ptr<const void> map() const;

  /// Reads up to `count` bytes at this offset. Returns how many there were; 0 at the end.
  [[nodiscard]] std::size_t read(std::byte* bytes, std::size_t count, std::uint64_t offset) const;

 private:
  std::intptr_t file_;  // the descriptor or the handle that the system gave
  Kind kind_ = Kind::other;
  std::uint64_t size_ = 0;
};

/// Allows the system to use large pages for the parts of this memory that have not been touched
/// yet. Large pages need fewer address translations, but the system allocates and zeroes each one
/// as a whole. `begin` is a multiple of the page size.
void allow_large_pages(void* begin, std::size_t bytes) noexcept;

/// Releases the memory of the pages of a mapped file that contain these bytes. The bytes do not
/// change: if such a page is read later, the system reads it from the file again.
void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept;

}  // namespace gpt2
