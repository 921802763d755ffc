#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "gpt2/dtype.h"

namespace gpt2 {

using TokenId = std::int32_t;

/// The activation functions that HuggingFace accepts for a GPT-2. Names of the same function share
/// one: gelu_pytorch_tanh and gelu_accurate are gelu_new, gelu_python is gelu, swish is silu.
enum class ActivationFunction : std::uint8_t {
  gelu_new, gelu_fast, gelu, gelu_10, quick_gelu, relu, relu2, relu6, silu, mish, tanh, sigmoid,
  linear, laplace,
};

/// The numbers of a GPT-2, with HuggingFace's names and defaults (GPT2Config).
struct Config {
  std::size_t vocab_size = 50257;
  std::size_t n_positions = 1024;  ///< the longest sequence the model has positions for
  std::size_t n_embd = 768;
  std::size_t n_layer = 12;
  std::size_t n_head = 12;
  std::size_t n_inner = 0;  ///< 0: 4 * n_embd
  ActivationFunction activation_function = ActivationFunction::gelu_new;
  float layer_norm_epsilon = 1e-5f;
  bool scale_attn_weights = true;
  bool scale_attn_by_inverse_layer_idx = false;
  bool reorder_and_upcast_attn = false;  ///< changes nothing in an engine that computes in f32
  bool tie_word_embeddings = true;
  /// Ids outside the vocabulary, which can never occur, are left out when a file is read.
  std::optional<TokenId> bos_token_id = 50256;
  std::vector<TokenId> eos_token_id = {50256};  ///< any of these ends a text; may be empty

  /// int8 or int4 where `gpt2 quantize` packed the matrices of this checkpoint.
  WeightType packed = WeightType::stored;

  [[nodiscard]] std::size_t head_dim() const noexcept { return n_embd / n_head; }
  [[nodiscard]] std::size_t inner_dim() const noexcept { return n_inner ? n_inner : 4 * n_embd; }

  /// Reads a config.json, and bos_token_id and eos_token_id of a generation_config.json beside it,
  /// which HuggingFace prefers. Unknown keys are ignored, aliases (hidden_size, ...) are honoured;
  /// a key that changes the maths and has a value that is not implemented is refused by name.
  /// Throws Error: unsupported for those and for another model_type, invalid_file for a value of
  /// the wrong type or out of range, n_embd that n_head does not divide, a product past all memory.
  [[nodiscard]] static Config load(const std::filesystem::path& file);

  /// The same from the text of a config.json; `where` names it in messages.
  [[nodiscard]] static Config parse(std::string_view json, std::string_view where);
};

/// HuggingFace's first name for it: "gelu_new" ...
[[nodiscard]] std::string_view name_of(ActivationFunction function) noexcept;

}  // namespace gpt2
