#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/types.h"

namespace gpt2 {

/// The names of the values of an enumeration, in their order, beginning with 0.
template <class T>
inline constexpr std::array<std::string_view, 0> kNamesOf = {};
template <>
inline constexpr auto kNamesOf<WeightType> =
    std::to_array<std::string_view>({"stored", "f32", "f16", "bf16", "int8", "int4"});
template <>
inline constexpr auto kNamesOf<KVType> = std::to_array<std::string_view>({"auto", "f32", "f16"});

/// Returns the name of a value; "" for a value that is not an enumerator.
template <class T>
[[nodiscard]] constexpr std::string_view name_in_list(T value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < kNamesOf<T>.size() ? kNamesOf<T>[index] : "";
}

/// Returns the value that has exactly this name, or nothing.
template <class T>
[[nodiscard]] constexpr std::optional<T> value_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kNamesOf<T>, name);
  if (found == kNamesOf<T>.end()) return std::nullopt;
  return static_cast<T>(found - kNamesOf<T>.begin());
}

/// Returns the names of `first` and of the values after it, for messages: "f32, f16 or bf16".
template <class T>
[[nodiscard]] std::string listed_names(T first = {}, std::string_view comma = ", ",
                                       std::string_view last_comma = " or ") {
  std::string list;
  for (auto i = static_cast<std::size_t>(first); i < kNamesOf<T>.size(); ++i) {
    if (!list.empty()) list += i + 1 == kNamesOf<T>.size() ? last_comma : comma;
    list += kNamesOf<T>[i];
  }
  return list;
}

/// The same for help texts: "f32|f16|bf16".
template <class T>
[[nodiscard]] std::string words_of(T first = {}) {
  return listed_names(first, "|", "|");
}

}  // namespace gpt2
