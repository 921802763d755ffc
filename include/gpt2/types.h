#pragma once

#ifndef __cpp_concepts  // __cplusplus would not do: MSVC does not set it unless it is asked to
#error "gpt2.cpp needs C++20, such as -std=c++20 (only gpt2/gpt2.h is for C and older C++)"
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Small types that the other headers share: token ids and the types of weights, keys and values.

namespace [[gnu::visibility("default")]] gpt2 {

/// A token's number: an index into the vocabulary, from 0 to vocab_size - 1.
///
/// The type is signed, as in most programs that handle ids. Functions that take ids from a caller
/// refuse negative ones and those outside the vocabulary.
///
/// Example:
///   const TokenId end_of_text = 50256;  // in GPT-2's own vocabulary
using TokenId = std::int32_t;

/// The type in which a model holds its matrices.
///
/// Types with fewer bits are faster if reading the weights takes most of the time, as it does when
/// a text is written token by token. Converting f16 or bf16 weights to f32 is exact. int8 and int4
/// (the quantized types) change the results a little; `gpt2 quantize` and compare_perplexity
/// (score.h) measure by how much. The position embedding and the parameters of LayerNorm
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

/// The type in which a session holds keys and values. To compute a token, the model reads the keys
/// and values of all tokens before it, so a long text is generated faster if they take fewer bytes.
///
/// f16 takes half the memory of f32. Keys and values are rounded to f16 when they are stored (to
/// nearest, ties to even) and converted back to f32 before they are used. All sums are in f32 and
/// in the same order with either type. Finite numbers beyond +-65504, the largest of f16, are
/// stored as +-65504. (The keys and values of trained models are below a few hundred.) Infinity and
/// NaN are stored unchanged.
///
/// Rounding changes the logits a little. compare_perplexity (score.h) measures by how much,
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
