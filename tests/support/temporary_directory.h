#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gpt2::test {

/// A new empty directory. The destructor removes it with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Writes a file with these bytes and returns its path. The name is in UTF-8.
  std::filesystem::path write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

/// Returns the content of a file, or "" if it cannot be read.
[[nodiscard]] std::string read_bytes(const std::filesystem::path& file);

}  // namespace gpt2::test
