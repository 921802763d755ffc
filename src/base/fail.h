#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpt2/error.h"

namespace gpt2 {

/// The parts in a row: text as it is, whole numbers in decimal.
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  const auto append = [&](const auto& part) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (append(parts), ...);
  return text;
}

/// Throws Error(code) with the message "where: " and the parts in a row; `where` is the file.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  throw Error(code, concat(where, ": ", parts...));
}

/// The same with the commonest code, invalid_file.
template <class... Parts>
[[noreturn]] void fail(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::invalid_file, where, parts...);
}

}  // namespace gpt2
