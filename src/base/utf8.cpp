#include "base/utf8.h"

namespace gpt2 {
namespace {

struct Lead {
  std::uint8_t length;         // of the sequence; 0: no sequence begins with this byte
  unsigned char second_first;  // what the second byte may be: this excludes overlong forms,
  unsigned char second_last;   // surrogates and code points past the last
};

// RFC 3629, section 4.
constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) noexcept {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead lead = lead_of(byte_at(0));
  if (lead.length == 0) return {Utf8Char::Kind::invalid, 1, 0};
  if (lead.length == 1) return {Utf8Char::Kind::valid, 1, byte_at(0)};

  char32_t code_point = byte_at(0) & (0x7fu >> lead.length);
  for (std::uint8_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Utf8Char::Kind::truncated, i, 0};
    const unsigned char first = i == 1 ? lead.second_first : 0x80;
    const unsigned char last = i == 1 ? lead.second_last : 0xbf;
    if (byte_at(i) < first || byte_at(i) > last) return {Utf8Char::Kind::invalid, i, 0};
    code_point = code_point << 6 | (byte_at(i) & 0x3fu);
  }
  return {Utf8Char::Kind::valid, lead.length, code_point};
}

Utf8Char last_utf8(std::string_view text) noexcept {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    const Utf8Char last = decode_utf8(text.substr(text.size() - length));
    if (last.kind == Utf8Char::Kind::valid && last.length == length) return last;
  }
  return {Utf8Char::Kind::invalid, 1, 0};
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
