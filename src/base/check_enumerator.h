#pragma once

#include "base/fail.h"

namespace gpt2 {

/// Throws Error(invalid_argument) if a program has cast a number to `value` that is none of the
/// enumerators, which go from 0 to `last`. `option` is the name of what has the value, and `type`
/// that of the enumeration.
template <class Enum>
void check_enumerator(Enum value, Enum last, const char* option, const char* type) {
  const auto number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return;
  reject(option, " has the value ", number, ", but the last one of ", type, " is ",
         static_cast<int>(last));
}

}  // namespace gpt2
