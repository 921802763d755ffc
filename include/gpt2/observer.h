#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "gpt2/session.h"

// Observing a forward pass: the values that each layer computes before the logits.

namespace [[gnu::visibility("default")]] gpt2 {

/// The values that can be observed. A block computes first x = x + attn(ln_1(x)) and then x = x +
/// mlp(ln_2(x)), where x is the residual stream. Each comment gives the shape of a row; there is
/// one row for each token.
///
/// HuggingFace's `hidden_states` are `embeddings`, then the `block_output` of every block but the
/// last, then `ln_f_output`. Its `attentions` are the `attention_weights`.
enum class Observed : std::uint8_t {
  embeddings,         ///< (n_embd) wte + wpe: the first value of the residual stream
  ln_1_statistics,    ///< (3) mean, variance and rstd of the input of ln_1
  attention_weights,  ///< (keys) one head's weights of the tokens up to this one; then zeros
  head_outputs,       ///< (n_embd) the outputs of all heads, side by side: the input of attn.c_proj
  attn_output,        ///< (n_embd) the output of attention, added to the residual stream
  ln_2_statistics,    ///< (3) mean, variance and rstd of the input of ln_2
  mlp_output,         ///< (n_embd) the output of the feed-forward layer, added to the residual
                      ///< stream
  block_output,       ///< (n_embd) the residual stream after a block
  ln_f_statistics,    ///< (3) mean, variance and rstd of the input of ln_f
  ln_f_output,        ///< (n_embd) the output of ln_f, from which the logits are computed
  ln_1_output,        ///< (n_embd) the output of ln_1: the input of attn.c_attn
  queries,            ///< (n_embd) the queries of all heads, side by side
  keys,               ///< (n_embd) the keys of all heads, before they are stored as f16 or f32
  values,             ///< (n_embd) the values of all heads, likewise
  ln_2_output,        ///< (n_embd) the output of ln_2: the input of mlp.c_fc
  mlp_activations     ///< (inner_dim) the output of the activation: the input of mlp.c_proj
};

/// The number of values of Observed.
inline constexpr auto kObservedCount = static_cast<std::size_t>(Observed::mlp_activations) + 1;

/// Some of the values that a pass computes: rows for consecutive tokens of one slice. The engine
/// owns the memory and overwrites it as soon as the observer returns.
///
/// Example:
///   const auto sum = [](const Observation& seen) {
///     double total = 0.0;
///     for (std::size_t i = 0; i < seen.rows; ++i) {
///       for (const float value : seen.row(i)) total += value;
///     }
///     return total;
///   };
struct Observation {
  Observed what;
  std::size_t layer;  ///< the block, from 0; 0 for the embeddings and n_layer for ln_f
  std::size_t head;   ///< the head for attention_weights; 0 for everything else
  std::size_t slice;  ///< the index of the slice in the call
  std::size_t first;  ///< the position of row 0's token in its session
  std::size_t rows, cols;
  std::size_t stride;  ///< floats from one row to the next
  const float* data;

  /// Row i, which is of the token at position first + i. REQUIRES: i < rows.
  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept {
    return {data + i * stride, cols};
  }
};

/// Receives values that a pass computes.
struct Observer {
  /// Called with each observation, in the order in which the pass computes them, on the thread that
  /// called forward(). If it throws, it is not called again; the pass runs to its end, and
  /// forward() then throws the same exception. REQUIRES: does not use the engine of the pass.
  std::function<void(const Observation&)> see;

  /// Returns whether to observe this. Called before the pass, once for each combination of `what`
  /// and `layer`. Empty: everything is observed.
  std::function<bool(Observed what, std::size_t layer)> wants = {};
};

/// Runs one forward pass over all slices, as Engine::forward does, on the engine of the first
/// slice's session, and shows the observer the values that it computes for every token, including
/// tokens whose logits are not requested. The logits and the sessions have the same bits as without
/// an observer. The observations have the same bits for any number of threads, on every instruction
/// set, and however the text is divided into passes.
///
/// A slice of more than about 512 tokens is shown in several pieces: first all layers of the first
/// piece, then all layers of the next.
///
/// The attention weights are the ones by which the pass multiplied the values. The statistics are
/// computed in double, from the same rows as in LayerNorm, which computes in float. The variance is
/// divided by n_embd, and rstd is 1 / sqrt(variance + layer_norm_epsilon).
///
/// Cost: a forward pass that computes all rows of the last block, plus the time of the observer
/// itself. The calling thread computes the statistics and the attention weights for the observer
/// alone. Allocates 512 * n_positions floats. A pass without an observer has no extra cost.
///
/// Throws as Engine::forward does, and Error(invalid_argument) if `see` is empty; in that case,
/// nothing has changed. Throws std::bad_alloc. Does nothing if there are no slices.
///
/// Example:
///   Session session(model);
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time");
///   const Slice slice = {&session, text, {}};  // no logits
///   const auto print = [](const Observation& seen) {
///     const std::span<const float> last = seen.row(seen.rows - 1);
///     std::printf("head %zu looks at the first token with %.3f\n", seen.head, last.front());
///   };
///   const auto wants = [](Observed what, std::size_t layer) {
///     return what == Observed::attention_weights && layer == 0;
///   };
///   forward({&slice, 1}, {.see = print, .wants = wants});
void forward(std::span<const Slice> slices, const Observer& observer);

}  // namespace gpt2
