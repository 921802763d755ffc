#include "base/fail.h"

#include "base/utf8.h"

namespace gpt2 {

std::string quote(std::string_view text, std::size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (text.size() > max_bytes) out += "...";
  return out + "'";
}

std::string printable(std::string_view text) {
  const auto is_hidden = [](char32_t code) {  // 0 of an invalid byte
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  };
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += is_hidden(c.code_point) ? " " : text.substr(0, c.length);
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace gpt2
