#include "text/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpt2 {
namespace {

constexpr std::size_t kCharacters = 0x100 + 68;

constexpr bool stands_for_itself(std::size_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

// By code point; -1 for those that are not in the alphabet.
constexpr std::array<std::int16_t, kCharacters> kBytes = [] {
  std::array<std::int16_t, kCharacters> bytes{};
  std::size_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bytes[byte] = -1;
    bytes[stands_for_itself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}();

// Two bytes of UTF-8, the most that the alphabet takes; kCharacters for any others.
constexpr std::size_t code_point_of(unsigned char lead, unsigned char second) {
  const bool is_valid = lead >= 0xc2 && lead < 0xe0 && (second & 0xc0) == 0x80;
  return is_valid ? (lead & 0x1fu) << 6 | (second & 0x3fu) : kCharacters;
}

}  // namespace

bool append_spelled_bytes(std::string& bytes, std::string_view spelled) {
  const std::size_t before = bytes.size();
  bytes.resize(before + spelled.size());
  std::size_t end = before;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    const auto lead = static_cast<unsigned char>(spelled[i]);
    std::size_t code_point = lead;
    if (lead >= 0x80) {
      const bool is_last = ++i == spelled.size();
      code_point = code_point_of(lead, is_last ? 0 : static_cast<unsigned char>(spelled[i]));
    }
    if (code_point >= kCharacters || kBytes[code_point] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes[end++] = static_cast<char>(kBytes[code_point]);
  }
  bytes.resize(end);
  return true;
}

}  // namespace gpt2
