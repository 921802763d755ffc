#include "gpt2/types.h"

#include <algorithm>
#include <iterator>

namespace gpt2 {
namespace {

// The names of the types, in the order of the enumerators.
constexpr std::string_view kWeightTypeNames[] = {"stored", "f32", "f16", "bf16", "int8", "int4"};
static_assert(std::size(kWeightTypeNames) == static_cast<std::size_t>(WeightType::int4) + 1);

}  // namespace

std::string_view name_of(WeightType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kWeightTypeNames) ? kWeightTypeNames[index] : "";
}

std::optional<WeightType> weight_type_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kWeightTypeNames, name);
  if (found == std::end(kWeightTypeNames)) return std::nullopt;
  return static_cast<WeightType>(found - std::begin(kWeightTypeNames));
}

}  // namespace gpt2
