#include "formats/zip.h"

#include "base/fail.h"

// The layout is that of PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.

namespace gpt2 {
namespace {

std::uint32_t crc32_of(Bytes bytes) noexcept {
  // The table for computing it four bits at a time.
  static constexpr std::uint32_t kCrcOfBits[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                                   0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                                   0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                                   0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  std::uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int half = 0; half < 2; ++half) crc = crc >> 4 ^ kCrcOfBits[crc & 15];
  }
  return ~crc;
}

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kLocalHeaderSize = 30;
constexpr std::size_t kCentralHeaderSize = 46;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kEnd64LocatorSize = 20;
constexpr std::size_t kMaxComment = 0xffff;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kEncrypted = 1;

constexpr auto u16 = load_little_endian<std::uint16_t>;
constexpr auto u32 = load_little_endian<std::uint32_t>;
constexpr auto u64 = load_little_endian<std::uint64_t>;

// Returns the `size` bytes at `offset`. Throws if they lie outside `bytes`, because both numbers
// come from the file and may be wrong.
Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t size, std::string_view where,
           std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    fail(where, what, " lies outside the archive: ", size, " bytes at offset ", offset, " of ",
         bytes.size());
  }
  return bytes.subspan(offset, size);
}

// Returns the position of the end record. Only a comment may follow this record, which contains the
// length of the comment.
std::size_t find_end(Bytes archive, std::string_view where) {
  for (std::size_t comment = 0; comment <= kMaxComment; ++comment) {
    if (archive.size() < kEndSize + comment) break;
    const std::size_t at = archive.size() - kEndSize - comment;
    if (u32(archive, at) == kEnd && u16(archive, at + 20) == comment) return at;
  }
  fail(where, "a zip archive without its end; the file is cut short: download it again");
}

// Reads the sizes and the offset from the zip64 extra field. The field contains only those that do
// not fit into 32 bits, in this order.
void read_zip64_field(Bytes extra, ZipReader::Entry& entry) {
  while (extra.size() >= 4) {
    const std::size_t size = u16(extra, 2);
    if (size > extra.size() - 4) return;
    Bytes field = extra.subspan(4, size);
    if (u16(extra, 0) == kZip64Field) {
      for (std::uint64_t* value : {&entry.size, &entry.stored_size, &entry.header}) {
        if (*value != 0xffffffff || field.size() < 8) continue;
        *value = u64(field, 0);
        field = field.subspan(8);
      }
      return;
    }
    extra = extra.subspan(4 + size);
  }
}

}  // namespace

ZipReader::ZipReader(Bytes archive, std::string_view where) : archive_(archive), where_(where) {
  const std::size_t end = find_end(archive, where);
  std::uint64_t count = u16(archive, end + 10);
  std::uint64_t size = u32(archive, end + 12);
  std::uint64_t offset = u32(archive, end + 16);
  if (end >= kEnd64LocatorSize && u32(archive, end - kEnd64LocatorSize) == kEnd64Locator) {
    const std::uint64_t at = u64(archive, end - kEnd64LocatorSize + 8);
    const Bytes end64 = part(archive, at, kEnd64Size, where, "the zip64 end record");
    if (u32(end64, 0) != kEnd64) {
      fail(where, "no zip64 end record at the offset that its locator gives");
    }
    count = u64(end64, 32);
    size = u64(end64, 40);
    offset = u64(end64, 48);
  }
  const Bytes directory = part(archive.first(end), offset, size, where, "the central directory");
  if (count > kMaxFiles) fail(where, count, " files; expected at most ", kMaxFiles);
  read_directory(directory, count);
}

void ZipReader::read_directory(Bytes rest, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (rest.size() < kCentralHeaderSize || u32(rest, 0) != kCentralHeader) {
      fail(where_, "the central directory ends before file ", i + 1, " of ", count);
    }
    const std::size_t name_size = u16(rest, 28);
    const std::size_t extra_size = u16(rest, 30);
    const std::size_t comment_size = u16(rest, 32);
    Entry entry{.flags = u16(rest, 8),
                .method = u16(rest, 10),
                .crc32 = u32(rest, 16),
                .stored_size = u32(rest, 20),
                .size = u32(rest, 24),
                .header = u32(rest, 42)};
    rest = rest.subspan(kCentralHeaderSize);
    if (name_size + extra_size + comment_size > rest.size()) {
      fail(where_, "the central directory ends inside file ", i + 1);
    }
    const std::string_view name = text_of(rest.first(name_size));
    read_zip64_field(rest.subspan(name_size, extra_size), entry);
    if (!files_.emplace(name, entry).second) {
      fail(where_, "file ", quote(name), " is in the archive twice");
    }
    rest = rest.subspan(name_size + extra_size + comment_size);
  }
}

Bytes ZipReader::content(std::string_view name) const {
  const std::string what = concat("file ", quote(name), " of the archive");
  const auto found = files_.find(name);
  if (found == files_.end()) fail(where_, what, " is missing");
  const Entry& entry = found->second;
  if (entry.method != 0 || (entry.flags & kEncrypted) != 0) {
    const std::string how =
        entry.method != 0 ? concat("compressed (method ", entry.method, ")") : "encrypted";
    fail(ErrorCode::unsupported, where_, what, " is ", how,
         "; expected it stored, as torch.save does: save it again");
  }
  if (entry.stored_size != entry.size) {
    fail(where_, what, " has two sizes, ", entry.stored_size, " and ", entry.size);
  }
  const Bytes header =
      part(archive_, entry.header, kLocalHeaderSize, where_, "the header of " + what);
  if (u32(header, 0) != kLocalHeader) fail(where_, what, " has no local header");
  // The sum does not overflow, because `part` has checked that both are far below 2^64.
  const std::uint64_t begin = entry.header + kLocalHeaderSize + u16(header, 26) + u16(header, 28);
  return part(archive_, begin, entry.size, where_, what);
}

Bytes ZipReader::verified_content(std::string_view name) const {
  const Bytes bytes = content(name);
  const std::uint32_t expected = files_.find(name)->second.crc32;
  if (expected != 0 && crc32_of(bytes) != expected) {
    fail(where_, "file ", quote(name),
         " of the archive is damaged (its CRC-32 differs): download it again");
  }
  return bytes;
}

}  // namespace gpt2
