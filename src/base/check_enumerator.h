#pragma once

#include "base/fail.h"

namespace gpt2 {

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
