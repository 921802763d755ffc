#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace gpt2 {

/// Returns text from a file in a form that is safe to print: in single quotes, with each byte that
/// is not printable ASCII as \xNN, and cut off after `max_bytes`. This prevents a file from sending
/// control sequences to a terminal or adding a line to a message.
[[nodiscard]] std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// Returns the joined parts. Text is copied; numbers are written in the shortest decimal form that
/// reads back as the same value.
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

/// Reads a decimal number, independently of the locale. Returns false, and may change `value`,
/// unless the whole `text` is a number that `value` can hold.
[[nodiscard]] bool read_number(std::string_view text, float& value);
[[nodiscard]] bool read_number(std::string_view text, double& value);
template <class Integer>
[[nodiscard]] bool read_number(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Returns the double that is written with as few digits as the float needs: 0.1 for 0.1f, and not
/// 0.100000001490116.
[[nodiscard]] double short_number(float value);

/// Returns "1 token" or "2 tokens", for messages.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

/// Returns why the system has refused something: its own words, except if another program uses the
/// file. Windows often refuses files for this reason, and has no clear words for it.
[[nodiscard]] std::string reason_of(const std::error_code& error);
[[nodiscard]] std::string reason_of(int error);  ///< a value of errno

}  // namespace gpt2
