#include "base/crc32.h"

namespace gpt2 {

std::uint32_t crc32_of(Bytes bytes, std::uint32_t crc) noexcept {
  // The table for computing it four bits at a time.
  static constexpr std::uint32_t kCrcOfBits[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                                   0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                                   0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                                   0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int half = 0; half < 2; ++half) crc = crc >> 4 ^ kCrcOfBits[crc & 15];
  }
  return ~crc;
}

}  // namespace gpt2
