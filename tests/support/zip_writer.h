#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpt2::test {

/// One file of an archive to be written, and the lies to be told about it.
struct ZipMember {
  std::string name;
  std::string data;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> crc32 = {};        ///< instead of the true one
  std::optional<std::uint32_t> stored_size = {};  ///< in the central directory, instead of size
  std::optional<std::uint64_t> size = {};         ///< in the central directory
  std::optional<std::uint64_t> header = {};       ///< where the local header is said to be
};

struct ZipOptions {
  bool zip64 = false;  ///< all sizes and offsets in 64-bit fields, the 32-bit ones full of ones
  bool data_descriptors = false;
  std::string comment = {};
  std::optional<std::uint64_t> count = {};  ///< of files, instead of the true one
};

/// The archive, byte by byte as PKWARE's APPNOTE.TXT has it; nothing is compressed.
std::string write_zip(const std::vector<ZipMember>& members, const ZipOptions& options = {});

}  // namespace gpt2::test
