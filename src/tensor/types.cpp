#include "gpt2/types.h"

#include <algorithm>
#include <iterator>

namespace gpt2 {
namespace {

// The names of the types, in the order of the enumerators.
constexpr std::string_view kWeightTypeNames[] = {"stored", "f32", "f16", "bf16", "int8", "int4"};
static_assert(std::size(kWeightTypeNames) == static_cast<std::size_t>(WeightType::int4) + 1);
constexpr std::string_view kKVTypeNames[] = {"auto", "f32", "f16"};
static_assert(std::size(kKVTypeNames) == static_cast<std::size_t>(KVType::f16) + 1);

template <std::size_t N, class Type>
std::string_view name_in(const std::string_view (&names)[N], Type type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < N ? names[index] : "";
}

template <class Type, std::size_t N>
std::optional<Type> type_named(const std::string_view (&names)[N], std::string_view name) noexcept {
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Type>(found - std::begin(names));
}

}  // namespace

std::string_view name_of(WeightType type) noexcept { return name_in(kWeightTypeNames, type); }

std::optional<WeightType> weight_type_named(std::string_view name) noexcept {
  return type_named<WeightType>(kWeightTypeNames, name);
}

std::string_view name_of(KVType type) noexcept { return name_in(kKVTypeNames, type); }

std::optional<KVType> kv_type_named(std::string_view name) noexcept {
  return type_named<KVType>(kKVTypeNames, name);
}

KVType resolved(KVType type, WeightType weights) noexcept {
  if (type != KVType::automatic) return type;
  const bool is_quantized = weights == WeightType::int8 || weights == WeightType::int4;
  return is_quantized ? KVType::f16 : KVType::f32;
}

std::size_t bytes_of(KVType type) noexcept { return type == KVType::f16 ? 2 : 4; }

}  // namespace gpt2
