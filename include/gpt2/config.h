#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

// clang-format off
/// The activation functions that HuggingFace accepts for a GPT-2 (transformers, activations.py,
/// ACT2FN), but for prelu and xielu, which have weights. HuggingFace's other names stand for one of
/// these: gelu_pytorch_tanh, gelu_python_tanh and gelu_accurate for gelu_new, gelu_python for gelu,
/// swish for silu.
enum class ActivationFunction : std::uint8_t {
  gelu_new, gelu_fast, gelu, gelu_10, quick_gelu, relu, relu2, relu6, silu, mish, tanh, sigmoid,
  linear, laplace, hardswish, leaky_relu, sqrtsoftplus,
};
// clang-format on

/// The hyperparameters of a GPT-2, with HuggingFace's names and defaults (GPT2Config). A
/// default-constructed Config describes GPT-2 124M.
///
/// A plain value: copies are independent, and threads may read one at the same time.
///
/// Example:
///   const Config config = Config::load("models/gpt2-stories/config.json");
///   const std::size_t parameters_of_wte = config.vocab_size * config.n_embd;
struct Config {
  std::size_t vocab_size = 50257;
  std::size_t n_positions = 1024;  ///< the longest sequence that the model has positions for
  std::size_t n_embd = 768;        ///< channels of the residual stream; n_head divides it
  std::size_t n_layer = 12;        ///< transformer blocks
  std::size_t n_head = 12;         ///< attention heads of each block
  std::size_t n_inner = 0;         ///< channels inside the feed-forward layer; 0: 4 * n_embd
  ActivationFunction activation_function = ActivationFunction::gelu_new;
  float layer_norm_epsilon = 1e-5f;
  bool scale_attn_weights = true;                ///< divide scores by sqrt(head_dim())
  bool scale_attn_by_inverse_layer_idx = false;  ///< and by the block's number, from 1
  bool reorder_and_upcast_attn = false;  ///< changes nothing in an engine that computes in f32
  bool tie_word_embeddings = true;       ///< whether wte is also the lm_head

  /// Special tokens. When a file is read, ids outside the vocabulary are left out, because no text
  /// can contain them.
  std::optional<TokenId> bos_token_id = 50256;
  std::vector<TokenId> eos_token_id = {50256};  ///< any of these ends a text; may be empty

  /// int8 or int4 if save_quantized (or `gpt2 quantize`) wrote this checkpoint; otherwise `stored`.
  WeightType quantized = WeightType::stored;

  [[nodiscard]] std::size_t head_dim() const noexcept { return n_embd / n_head; }
  [[nodiscard]] std::size_t inner_dim() const noexcept { return n_inner ? n_inner : 4 * n_embd; }

  /// Reads a config.json. If its directory has a generation_config.json, the tokens that end a text
  /// are those of its eos_token_id alone, and its bos_token_id replaces that of the config.json, as
  /// in HuggingFace. Ignores unknown keys and understands HuggingFace's aliases (hidden_size for
  /// n_embd, and so on).
  ///
  /// Throws Error: not_found if there is no such file; unsupported for another model_type, and for
  /// a key that changes the computation and has a value that is not implemented; invalid_file for a
  /// value of the wrong type or out of range, for an n_embd that is not a multiple of n_head, and
  /// for sizes whose product exceeds any memory. The message names the file and the key.
  [[nodiscard]] static Config load(const std::filesystem::path& file);

  /// Parses the text of a config.json. Error messages name `where` instead of a file. Reads no
  /// file.
  [[nodiscard]] static Config parse(std::string_view json, std::string_view where);

  /// Returns all members except `quantized` as JSON that parse() reads. The value of n_inner is
  /// inner_dim(). Throws Error(invalid_argument) if layer_norm_epsilon is not finite or the
  /// activation_function has no name.
  [[nodiscard]] std::string to_json() const;
};

/// HuggingFace's name for the function, such as "gelu_new".
[[nodiscard]] std::string_view name_of(ActivationFunction function) noexcept;

}  // namespace gpt2
