#include "tensor/dtype.h"

#include "base/names.h"
#include "gpt2/types.h"

namespace gpt2 {
namespace {

struct Info {
  std::string_view name = {};
  std::size_t bits = 0;
};

// This is a switch, so that the compiler warns about a type that has no case. The name is empty if
// `dtype` is not an enumerator.
constexpr Info info_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return {"F32", 32};
    case DType::f16: return {"F16", 16};
    case DType::bf16: return {"BF16", 16};
    case DType::f64: return {"F64", 64};
    case DType::boolean: return {"BOOL", 8};
    case DType::u8: return {"U8", 8};
    case DType::i8: return {"I8", 8};
    case DType::u16: return {"U16", 16};
    case DType::i16: return {"I16", 16};
    case DType::u32: return {"U32", 32};
    case DType::i32: return {"I32", 32};
    case DType::u64: return {"U64", 64};
    case DType::i64: return {"I64", 64};
    case DType::f8_e5m2: return {"F8_E5M2", 8};
    case DType::f8_e4m3: return {"F8_E4M3", 8};
    case DType::f8_e8m0: return {"F8_E8M0", 8};
    case DType::f8_e4m3fnuz: return {"F8_E4M3FNUZ", 8};
    case DType::f8_e5m2fnuz: return {"F8_E5M2FNUZ", 8};
    case DType::f6_e2m3: return {"F6_E2M3", 6};
    case DType::f6_e3m2: return {"F6_E3M2", 6};
    case DType::f4: return {"F4", 4};
    case DType::c64: return {"C64", 64};
  }
  return {};
}

}  // namespace

std::size_t bits_of(DType dtype) noexcept { return info_of(dtype).bits; }

std::string_view name_of(DType dtype) noexcept { return info_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) noexcept {
  for (std::uint8_t i = 0;; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Info info = info_of(dtype);
    if (info.name.empty()) return std::nullopt;
    if (info.name == name) return dtype;
  }
}

// The types of weights, and of keys and values, which gpt2/types.h declares.
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
