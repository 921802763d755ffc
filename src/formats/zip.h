#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace gpt2 {

/// A zip archive whose files are stored, not compressed, as torch.save writes it: each can be used
/// where it lies.
///
/// Reads the central directory (zip64 too) and, of a file, its local header when asked for the
/// file; data descriptors are not needed. The views point into the archive's bytes.
class ZipReader {
 public:
  /// `where` (the path) begins every message. Throws Error(invalid_file) where `archive` is no zip,
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

  /// The content of one file. Throws Error: invalid_file where it is missing or lies outside the
  /// archive, unsupported where it is compressed or encrypted.
  [[nodiscard]] Bytes content(std::string_view name) const;

  /// The same after comparing its CRC-32, where the archive has one (not zero).
  [[nodiscard]] Bytes verified_content(std::string_view name) const;

 private:
  void read_directory(Bytes directory, std::uint64_t count);

  Bytes archive_;
  std::string where_;
  Directory files_;
};

}  // namespace gpt2
