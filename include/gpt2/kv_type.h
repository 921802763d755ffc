#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpt2/weight_type.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// The type in which a session holds keys and values. To compute a token, the model reads the keys
/// and values of all tokens before it, so a long text is generated faster if they take fewer bytes.
///
/// f16 takes half the memory of f32. Keys and values are rounded to f16 when they are stored (to
/// nearest, ties to even) and converted back to f32 before they are used. All sums are in f32 and
/// in the same order with either type. Finite numbers beyond +-65504, the largest of f16, are
/// stored as +-65504. (The keys and values of trained models are below a few hundred.) Infinity and
/// NaN are stored unchanged.
///
/// Rounding changes the logits a little. compare_perplexity (perplexity.h) measures by how much,
/// and `gpt2 quantize` prints it. With either type the results are the same, bit for bit, on every
/// machine and for any number of threads.
enum class KVType : std::uint8_t {
  automatic,  ///< f16 if the weights are int8 or int4, otherwise f32
  f32,        ///< 32-bit floats
  f16,        ///< 16-bit floats of IEEE 754
};

/// Returns `type`, or the type that `automatic` stands for if the weights are of type `weights`:
/// f32 or f16.
///
/// Example:
///   const KVType type = resolved(KVType::automatic, WeightType::int8);  // KVType::f16
[[nodiscard]] KVType resolved(KVType type, WeightType weights) noexcept;

/// Returns the size of one number in bytes: 4 for f32 and 2 for f16. REQUIRES: type is not
/// `automatic`.
///
/// Example:
///   const std::size_t bytes = 2 * 12 * 768 * bytes_of(KVType::f16);  // a token of GPT-2 124M
[[nodiscard]] std::size_t bytes_of(KVType type) noexcept;

/// Returns the name of a type: "auto", "f32" or "f16"; "" for a value that is not an enumerator.
/// The view is always valid.
///
/// Example:
///   const std::string_view name = name_of(KVType::automatic);  // "auto"
[[nodiscard]] std::string_view name_of(KVType type) noexcept;

/// Returns the type that has exactly this name, or nothing. The name is case-sensitive.
///
/// Example:
///   const KVType type = kv_type_named("f16").value_or(KVType::automatic);
[[nodiscard]] std::optional<KVType> kv_type_named(std::string_view name) noexcept;

}  // namespace gpt2
