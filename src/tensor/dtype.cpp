#include "gpt2/dtype.h"

namespace gpt2 {
namespace {

struct Info {
  DType dtype;
  std::size_t bits;
  std::string_view name;
};

// In the order of the enumeration.
constexpr Info kInfos[] = {
    {DType::f32, 32, "F32"},
    {DType::f16, 16, "F16"},
    {DType::bf16, 16, "BF16"},
    {DType::f64, 64, "F64"},
    {DType::boolean, 8, "BOOL"},
    {DType::u8, 8, "U8"},
    {DType::i8, 8, "I8"},
    {DType::u16, 16, "U16"},
    {DType::i16, 16, "I16"},
    {DType::u32, 32, "U32"},
    {DType::i32, 32, "I32"},
    {DType::u64, 64, "U64"},
    {DType::i64, 64, "I64"},
    {DType::f8_e5m2, 8, "F8_E5M2"},
    {DType::f8_e4m3, 8, "F8_E4M3"},
    {DType::f8_e8m0, 8, "F8_E8M0"},
    {DType::f8_e4m3fnuz, 8, "F8_E4M3FNUZ"},
    {DType::f8_e5m2fnuz, 8, "F8_E5M2FNUZ"},
    {DType::f6_e2m3, 6, "F6_E2M3"},
    {DType::f6_e3m2, 6, "F6_E3M2"},
    {DType::f4, 4, "F4"},
    {DType::c64, 64, "C64"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kInfos); ++i) {
    if (static_cast<std::size_t>(kInfos[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

const Info& info_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t bits_of(DType dtype) noexcept { return info_of(dtype).bits; }

std::string_view name_of(DType dtype) noexcept { return info_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) noexcept {
  for (const Info& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

}  // namespace gpt2
