#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpt2::test {

/// One file of an archive to be written, and the false values to write for it.
struct ZipMember {
  std::string name;
  std::string data;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> crc32 = {};        ///< instead of the true CRC-32
  std::optional<std::uint32_t> stored_size = {};  ///< the compressed size in the central directory
  std::optional<std::uint64_t> size = {};         ///< the size in the central directory
  std::optional<std::uint64_t> header = {};       ///< the stated offset of the local header
};

struct ZipOptions {
  bool zip64 = false;  ///< 64-bit sizes and offsets; the 32-bit fields are all ones
  bool data_descriptors = false;
  std::string comment = {};
  std::optional<std::uint64_t> count = {};  ///< the stated number of files
};

/// Returns the archive, byte by byte as PKWARE's APPNOTE.TXT defines it. Nothing is compressed.
std::string write_zip(const std::vector<ZipMember>& members, const ZipOptions& options = {});

}  // namespace gpt2::test
