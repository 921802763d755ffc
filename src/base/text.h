#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

// Functions that build the text of messages, and that read and write numbers in text.

namespace gpt2 {

/// Text from a file, made safe for a message: in single quotes, with everything but printable ASCII
/// as \xNN, and cut after `max_bytes`. So a file cannot send control sequences to a terminal or add
/// a line to a message.
[[nodiscard]] std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// Joins the parts: text as it is, numbers in the shortest decimal form that reads back as the
/// same value.
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  const auto append = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      char digits[32];
      text.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
    } else {
      text += part;
    }
  };
  (append(parts), ...);
  return text;
}

/// Reads a decimal number, whatever the locale. Returns false, and may change `value`, unless all
/// of `text` is the number.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace gpt2
