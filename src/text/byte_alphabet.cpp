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

struct Alphabet {
  std::array<std::int16_t, kCharacters> bytes{};  // by code point; -1 for those outside
  std::array<std::uint16_t, 256> characters{};    // code points, by byte
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  std::size_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::size_t character = stands_for_itself(byte) ? byte : next++;
    alphabet.bytes[character] = static_cast<std::int16_t>(byte);
    alphabet.characters[byte] = static_cast<std::uint16_t>(character);
  }
  return alphabet;
}();

// Two bytes of UTF-8, the most that the alphabet takes; kCharacters for any others.
constexpr std::size_t code_point_of(unsigned char lead, unsigned char second) {
  const bool is_valid = lead >= 0xc2 && lead < 0xe0 && (second & 0xc0) == 0x80;
  return is_valid ? (lead & 0x1fu) << 6 | (second & 0x3fu) : kCharacters;
}

}  // namespace

std::string spell(std::string_view bytes) {
  std::string spelled;
  for (const char c : bytes) {
    const unsigned character = kAlphabet.characters[static_cast<unsigned char>(c)];
    if (character < 0x80) {
      spelled += static_cast<char>(character);
    } else {
      spelled += static_cast<char>(0xc0 | character >> 6);
      spelled += static_cast<char>(0x80 | (character & 0x3f));
    }
  }
  return spelled;
}

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
    if (code_point >= kCharacters || kAlphabet.bytes[code_point] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes[end++] = static_cast<char>(kAlphabet.bytes[code_point]);
  }
  bytes.resize(end);
  return true;
}

}  // namespace gpt2
