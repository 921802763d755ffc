#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpt2 {

// clang-format off
/// The element types that a checkpoint file can contain, which are those of the safetensors format.
///
/// The engine computes in f32 and reads weights of f32, f16 and bf16. The other types are defined
/// only so that the readers can check the sizes of such tensors, name them and skip them.
enum class DType : std::uint8_t {
  f32, f16, bf16, f64,
  boolean, u8, i8, u16, i16, u32, i32, u64, i64,
  f8_e5m2, f8_e4m3, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4, c64,
};
// clang-format on

/// Returns the number of bits of one element.
[[nodiscard]] std::size_t bits_of(DType dtype) noexcept;

/// Returns the name of the type in safetensors files, such as "F32", "BF16" or "BOOL".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// Returns the type that has this name in safetensors files, or nothing. Names are case-sensitive.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name) noexcept;

}  // namespace gpt2
