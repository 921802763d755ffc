#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace [[gnu::visibility("default")]] gpt2 {

/// The type in which a model holds its matrices.
///
/// Types with fewer bits are faster if reading the weights takes most of the time, as it does when
/// a text is written token by token. Converting f16 or bf16 weights to f32 is exact. int8 and int4
/// (the quantized types) change the results a little; `gpt2 quantize` and compare_perplexity
/// (perplexity.h) measure by how much. The position embedding and the parameters of LayerNorm
/// always stay as they are stored.
enum class WeightType : std::uint8_t {
  stored,  ///< the type that the file has; the mapped file is used in place
  f32,     ///< 32-bit floats
  f16,     ///< 16-bit floats of IEEE 754
  bf16,    ///< the upper 16 bits of an f32
  int8,    ///< blocks of 64 weights along the input dimension, each block with an f16 scale
  int4,    ///< blocks of 32 weights, each with an f16 scale, and a codebook of 16 values
};

/// Returns the name of a type as above: "stored", "f32", "f16", "bf16", "int8" or "int4"; "" for a
/// value that is not an enumerator. The view is always valid.
///
/// Example:
///   const std::string_view name = name_of(WeightType::int8);  // "int8"
[[nodiscard]] std::string_view name_of(WeightType type) noexcept;

/// Returns the type that has exactly this name, or nothing. The name is case-sensitive.
///
/// Example:
///   const WeightType type = weight_type_named("bf16").value_or(WeightType::stored);
[[nodiscard]] std::optional<WeightType> weight_type_named(std::string_view name) noexcept;

}  // namespace gpt2
