#include "base/text.h"

#ifndef __cpp_lib_to_chars
#include <locale.h>

#include <cmath>
#include <cstdlib>
#endif

#include "base/utf8.h"
#include "gpt2/error.h"

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

namespace {

template <class Floating>
bool read_floating(std::string_view text, Floating& value) {
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
#else  // Before version 20, libc++ cannot read floating-point numbers in this way.
  if (text.empty() || text.front() == '+') return false;
  if (text.find_first_not_of("+-.0123456789Ee") != text.npos) return false;
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);
  char* end = nullptr;
  if constexpr (std::is_same_v<Floating, float>) {
    value = strtof_l(copy.c_str(), &end, c_locale);
  } else {
    value = strtod_l(copy.c_str(), &end, c_locale);
  }
  return end == copy.c_str() + copy.size() && std::isfinite(value);
#endif
}

}  // namespace

bool read_number(std::string_view text, float& value) { return read_floating(text, value); }
bool read_number(std::string_view text, double& value) { return read_floating(text, value); }

double short_number(float value) {
  double number = value;
  static_cast<void>(read_number(concat(value), number));
  return number;
}

std::string reason_of(const std::error_code& error) {
  return error == std::errc::device_or_resource_busy ? "another program uses it" : error.message();
}

std::string reason_of(int error) { return reason_of({error, std::generic_category()}); }

}  // namespace gpt2
