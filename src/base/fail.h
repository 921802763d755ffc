#pragma once

#include <string_view>

#include "base/text.h"
#include "gpt2/error.h"

namespace gpt2 {

/// Throws Error(code). The message is `where`, a colon, a space and the joined parts. `where` is
/// usually the name of a file.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  throw Error(code, concat(where, ": ", parts...));
}

/// Throws Error(invalid_argument). The message is the joined parts.
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, concat(parts...));
}

/// Like the function above, with the most common code, invalid_file.
template <class... Parts>
[[noreturn]] void fail(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::invalid_file, where, parts...);
}

/// Throws Error(invalid_argument) if `value` is not one of the enumerators, which are 0 to `last`.
/// A program can make such a value by casting a number. The message names `option`, the option or
/// argument that has the value, and `type`, the enumeration.
template <class Enum>
void check_enumerator(Enum value, Enum last, const char* option, const char* type) {
  const auto number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return;
  reject(option, " has the value ", number, ", but the last one of ", type, " is ",
         static_cast<int>(last));
}

}  // namespace gpt2
