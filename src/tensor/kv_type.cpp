#include "gpt2/types.h"

#include <algorithm>
#include <iterator>

namespace gpt2 {
namespace {

// The names of the types, in the order of the enumerators.
constexpr std::string_view kKVTypeNames[] = {"auto", "f32", "f16"};
static_assert(std::size(kKVTypeNames) == static_cast<std::size_t>(KVType::f16) + 1);

}  // namespace

KVType resolved(KVType type, WeightType weights) noexcept {
  if (type != KVType::automatic) return type;
  const bool is_quantized = weights == WeightType::int8 || weights == WeightType::int4;
  return is_quantized ? KVType::f16 : KVType::f32;
}

std::size_t bytes_of(KVType type) noexcept { return type == KVType::f16 ? 2 : 4; }

std::string_view name_of(KVType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kKVTypeNames) ? kKVTypeNames[index] : "";
}

std::optional<KVType> kv_type_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kKVTypeNames, name);
  if (found == std::end(kKVTypeNames)) return std::nullopt;
  return static_cast<KVType>(found - std::begin(kKVTypeNames));
}

}  // namespace gpt2
