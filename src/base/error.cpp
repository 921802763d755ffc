#include "gpt2/error.h"

#include "base/utf8.h"

namespace gpt2 {

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(printable(message)), code_(code) {}

std::string printable(std::string_view text) {
  // The code of an invalid byte is 0, so it is hidden as well.
  const auto is_hidden = [](char32_t code) {
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
