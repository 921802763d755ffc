#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpt2 {

/// The element types a checkpoint file can hold (safetensors' list). The engine computes in f32 and
/// reads weights of f32, f16 and bf16; the others are known so that a tensor of them can be
/// measured, named and skipped.
enum class DType : std::uint8_t {
  f32, f16, bf16, f64,
  boolean, u8, i8, u16, i16, u32, i32, u64, i64,
  f8_e5m2, f8_e4m3, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz, f6_e2m3, f6_e3m2, f4, c64,
};

/// Bits of one element.
[[nodiscard]] std::size_t bits_of(DType dtype) noexcept;

/// The name safetensors gives it: "F32", "BF16", "BOOL" ...
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// The dtype of such a name, if there is one.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name) noexcept;

/// How a model's matrices are held in memory.
enum class WeightType : std::uint8_t {
  stored,  ///< as the file has them, in place
  f32, f16, bf16,
  int8,  ///< blocks of 64 along the input dimension, one f16 scale each
  int4,  ///< blocks of 32, with a codebook of 16 values
};

}  // namespace gpt2
