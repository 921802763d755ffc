#include "text/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

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
  while (!spelled.empty()) {
    const Utf8Char c = decode_utf8(spelled);  // of code point 0, which spells nothing, if invalid
    if (c.code_point >= kCharacters || kAlphabet.bytes[c.code_point] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(kAlphabet.bytes[c.code_point]);
    spelled.remove_prefix(c.length);
  }
  return true;
}

}  // namespace gpt2
