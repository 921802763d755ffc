#include "gpt2/dtype.h"

#include <algorithm>
#include <iterator>

namespace gpt2 {
namespace {

struct Info {
  std::string_view name;
  std::size_t bits;
};

// In the order of the enumeration.
constexpr Info kInfos[] = {
    {"F32", 32},    {"F16", 16},        {"BF16", 16},       {"F64", 64},    {"BOOL", 8},
    {"U8", 8},      {"I8", 8},          {"U16", 16},        {"I16", 16},    {"U32", 32},
    {"I32", 32},    {"U64", 64},        {"I64", 64},        {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6},
    {"F4", 4},      {"C64", 64},
};

const Info& info_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t bits_of(DType dtype) noexcept { return info_of(dtype).bits; }

std::string_view name_of(DType dtype) noexcept { return info_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kInfos, name, &Info::name);
  if (found == std::end(kInfos)) return std::nullopt;
  return static_cast<DType>(found - kInfos);
}

}  // namespace gpt2
