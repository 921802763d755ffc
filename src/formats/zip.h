#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace gpt2 {

/// A zip archive whose files are stored without compression, as torch.save writes them, so that
/// each file can be used in place.
///
/// The constructor reads the central directory, which may be in the zip64 format. content() reads
/// the local header of the file. Data descriptors are not needed. The views point into the bytes of
/// the archive.
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

  /// Returns the content of one file. Throws Error(invalid_file) if the file is missing or lies
  /// outside the archive, and Error(unsupported) if it is compressed or encrypted.
  [[nodiscard]] Bytes content(std::string_view name) const;

  /// Like content(), but also checks the CRC-32 of the file, and throws Error(invalid_file) if it
  /// is wrong. If the CRC-32 in the archive is zero, the archive has none, and nothing is checked.
  [[nodiscard]] Bytes verified_content(std::string_view name) const;

 private:
  void read_directory(Bytes directory, std::uint64_t count);

  Bytes archive_;
  std::string where_;
  Directory files_;
};

}  // namespace gpt2
