#pragma once

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "gpt2/option_fields.h"

// check_numbers(name, range, value) throws Error(invalid_argument) if a number in the value of an
// option is out of its range. Token ids and values without numbers always pass.

namespace gpt2 {

template <class T>
void check_numbers(std::string_view name, const OptionRange& range, const T& value) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (range.contains(value)) return;
    reject(name, " must be ", range.text(std::is_integral_v<T>), ", got ", value);
  }
}

inline void check_numbers(std::string_view name, const OptionRange& range,
                          const std::optional<std::size_t>& count) {
  if (count) check_numbers(name, range, *count);
}

inline void check_numbers(std::string_view name, const OptionRange& range,
                          const std::vector<std::pair<TokenId, float>>& biases) {
  for (const auto& [id, bias] : biases) check_numbers(name, range, bias);
}

inline void check_numbers(std::string_view name, const OptionRange& range,
                          const std::vector<SequenceBias>& biases) {
  for (const auto& [ids, bias] : biases) check_numbers(name, range, bias);
}

inline void check_numbers(std::string_view name, const OptionRange& range,
                          const std::optional<ExponentialDecay>& decay) {
  if (decay) check_numbers(concat("the factor of ", name), range, decay->factor);
}

}  // namespace gpt2
