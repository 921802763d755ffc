#pragma once

#include <windows.h>

#include <cerrno>
#include <system_error>

namespace gpt2 {

/// Returns the error of the last call of the system. Most errors become those of the C library,
/// whose messages are the same on every system and in every language.
[[nodiscard]] inline std::error_code last_error() {
  const std::error_code error(static_cast<int>(GetLastError()), std::system_category());
  const std::error_condition known = error.default_error_condition();
  return known.category() == std::generic_category()
             ? std::error_code(known.value(), std::generic_category())
             : error;
}

}  // namespace gpt2
