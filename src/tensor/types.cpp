#include "gpt2/types.h"

#include "base/names.h"

namespace gpt2 {
static_assert(kNamesOf<WeightType>.size() == static_cast<std::size_t>(WeightType::int4) + 1);
static_assert(kNamesOf<KVType>.size() == static_cast<std::size_t>(KVType::f16) + 1);

std::string_view name_of(WeightType type) noexcept { return name_in_list(type); }

std::optional<WeightType> weight_type_named(std::string_view name) noexcept {
  return value_named<WeightType>(name);
}

std::string_view name_of(KVType type) noexcept { return name_in_list(type); }

std::optional<KVType> kv_type_named(std::string_view name) noexcept {
  return value_named<KVType>(name);
}

KVType resolved(KVType type, WeightType weights) noexcept {
  if (type != KVType::automatic) return type;
  const bool is_quantized = weights == WeightType::int8 || weights == WeightType::int4;
  return is_quantized ? KVType::f16 : KVType::f32;
}

std::size_t bytes_of(KVType type) noexcept { return type == KVType::f16 ? 2 : 4; }

}  // namespace gpt2
