#include "base/utf8.h"

#include <bit>

namespace gpt2 {
namespace {

// All bytes of a character but the first are 10xxxxxx.
bool begins_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

}  // namespace

// This follows RFC 3629, section 4.
Utf8Char decode_utf8(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {Utf8Char::Kind::valid, 1, lead};
  if (lead < 0xc2 || lead > 0xf4) return {Utf8Char::Kind::invalid, 1, 0};
  const auto length = static_cast<std::uint8_t>(std::countl_one(lead));

  // The limits of the second byte exclude overlong forms, surrogates, and code points above
  // U+10FFFF.
  unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  char32_t code_point = lead & (0x7fu >> length);
  for (std::uint8_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Char::Kind::truncated, i, 0};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < least || byte > most) return {Utf8Char::Kind::invalid, i, 0};
    code_point = code_point << 6 | (byte & 0x3fu);
    least = 0x80;
    most = 0xbf;
  }
  return {Utf8Char::Kind::valid, length, code_point};
}

Utf8Char last_utf8(std::string_view text) noexcept {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    const Utf8Char last = decode_utf8(text.substr(text.size() - length));
    if (last.kind == Utf8Char::Kind::valid && last.length == length) return last;
  }
  return {Utf8Char::Kind::invalid, 1, 0};
}

std::size_t count_characters(std::string_view bytes) noexcept {
  std::size_t count = 0;
  for (const char byte : bytes) count += begins_character(byte);
  return count;
}

std::size_t place_to_cut(std::string_view text, std::size_t at) noexcept {
  constexpr int kMoreBytes = 3;  // of a character, after its first
  if (at >= text.size()) return text.size();
  for (int i = 0; i < kMoreBytes && at > 0 && !begins_character(text[at]); ++i) --at;
  return at;
}

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const Utf8Char next = decode_utf8(text.substr(i));
    if (next.kind != Utf8Char::Kind::valid) return i;
    i += next.length;
  }
  return i;
}

}  // namespace gpt2
