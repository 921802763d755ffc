#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace gpt2 {

/// A zip archive whose files are stored without compression, as torch.save writes it, so that each
/// can be used where it lies.
///
/// Reads the central directory, also that of zip64, and a file's local header when the file is
/// asked for; it does not need data descriptors. The views point into the archive's bytes.
class ZipReader {
 public:
  /// Messages begin with `where`, the path. Throws Error(invalid_file) if `archive` is not a zip,
  /// is cut short, names a file twice, or has more than kMaxFiles files.
  ZipReader(Bytes archive, std::string_view where);

  static constexpr std::size_t kMaxFiles = 100'000;

  struct Entry {
    std::uint16_t flags;
    std::uint16_t method;
    std::uint32_t crc32;
    std::uint64_t stored_size;
    std::uint64_t size;
    std::uint64_t header;  ///< offset of the local header
  };
  using Directory = std::map<std::string_view, Entry>;

  [[nodiscard]] const Directory& files() const noexcept { return files_; }

  /// The content of one file. Throws Error: invalid_file if it is missing or lies outside the
  /// archive, unsupported if it is compressed or encrypted.
  [[nodiscard]] Bytes content(std::string_view name) const;

  /// The same, after a check of its CRC-32 if the archive has one, that is, not zero.
  [[nodiscard]] Bytes verified_content(std::string_view name) const;

 private:
  void read_directory(Bytes directory, std::uint64_t count);

  Bytes archive_;
  std::string where_;
  Directory files_;
};

}  // namespace gpt2
