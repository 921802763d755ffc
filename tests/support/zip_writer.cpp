#include "support/zip_writer.h"

#include "support/bytes.h"

namespace gpt2::test {
namespace {

std::string u16(std::size_t value) { return little_endian(static_cast<std::uint16_t>(value)); }
std::string u32(std::uint64_t value) { return little_endian(static_cast<std::uint32_t>(value)); }
std::string u64(std::uint64_t value) { return little_endian(value); }

// Computes the CRC bit by bit from the polynomial.
std::uint32_t crc32_of(const std::string& data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::string central_header(const ZipMember& member, std::uint64_t header, bool zip64) {
  const std::uint64_t size = member.size.value_or(member.data.size());
  const std::uint64_t stored = member.stored_size.value_or(static_cast<std::uint32_t>(size));
  const std::string extra =
      zip64 ? u16(0x9999) + u16(1) + "?" + u16(1) + u16(24) + u64(size) + u64(stored) + u64(header)
            : "";
  return u32(0x02014b50) + u16(0) + u16(0) + u16(member.flags) + u16(member.method) + u32(0) +
         u32(member.crc32.value_or(crc32_of(member.data))) + u32(zip64 ? ~0u : stored) +
         u32(zip64 ? ~0u : size) + u16(member.name.size()) + u16(extra.size()) + u16(0) + u16(0) +
         u16(0) + u32(0) + u32(zip64 ? ~0u : header) + member.name + extra;
}

}  // namespace

std::string write_zip(const std::vector<ZipMember>& members, const ZipOptions& options) {
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::uint64_t header = member.header.value_or(archive.size());
    directory += central_header(member, header, options.zip64);
    const std::size_t known = options.data_descriptors ? 0 : member.data.size();
    const std::string padding = u16(0x4246) + u16(3) + "ZZZ";  // PyTorch aligns its records with
                                                               // such a field
    archive += u32(0x04034b50) + u16(0) + u16(member.flags) + u16(member.method) + u32(0) + u32(0) +
               u32(known) + u32(known) + u16(member.name.size()) + u16(padding.size()) +
               member.name + padding + member.data;
    if (options.data_descriptors) {
      archive += u32(0x08074b50) + u32(crc32_of(member.data)) + u32(member.data.size()) +
                 u32(member.data.size());
    }
  }
  const std::size_t begin = archive.size();
  const std::uint64_t count = options.count.value_or(members.size());
  archive += directory;
  if (options.zip64) {
    const std::size_t end64 = archive.size();
    archive += u32(0x06064b50) + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(count) +
               u64(count) + u64(directory.size()) + u64(begin);
    archive += u32(0x07064b50) + u32(0) + u64(end64) + u32(1);
  }
  return archive + u32(0x06054b50) + u16(0) + u16(0) + u16(options.zip64 ? 0xffff : count) +
         u16(options.zip64 ? 0xffff : count) + u32(options.zip64 ? ~0u : directory.size()) +
         u32(options.zip64 ? ~0u : begin) + u16(options.comment.size()) + options.comment;
}

}  // namespace gpt2::test
