#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpt2/error.h"

namespace gpt2 {

/// Text from a file as a message can show it: in single quotes, everything but printable ASCII as
/// \xNN, cut after `max_bytes`. No terminal control sequence and no second line comes through.
[[nodiscard]] std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// Text for a terminal, in one line: a control character, an invalid byte or a mark that changes
/// the direction of writing becomes a space.
[[nodiscard]] std::string printable(std::string_view text);

/// The parts in a row: text as it is, numbers in the shortest decimal form that reads back as the
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

/// Whether all of `text` is a number in decimal, whatever the locale. `value` then has it.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Throws Error(code) with the message "where: " and the parts in a row; `where` is the file.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  throw Error(code, concat(where, ": ", parts...));
}

/// Throws Error(invalid_argument) with the parts in a row: it is the caller's value that is wrong.
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, concat(parts...));
}

/// fail() with the commonest code, invalid_file.
template <class... Parts>
[[noreturn]] void fail(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::invalid_file, where, parts...);
}

}  // namespace gpt2
