#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "gpt2/session.h"

// Watching a forward pass from inside: what each layer computes on the way to the logits.

namespace [[gnu::visibility("default")]] gpt2 {

/// What can be observed. A block computes x = x + attn(ln_1(x)) and then x = x + mlp(ln_2(x)); x is
/// the residual stream. Each comment tells the shape, which has a row for each token.
///
/// HuggingFace's `hidden_states` are `embeddings`, then the `block_output` of every block but the
/// last, then `ln_f_output`. Its `attentions` are the `attention_weights`.
enum class Observed : std::uint8_t {
  embeddings,         ///< (n_embd) wte + wpe, where the residual stream begins
  ln_1_statistics,    ///< (3) mean, variance and rstd of what ln_1 normalizes
  attention_weights,  ///< (keys) one head's weights of the tokens up to this one; then zeros
  head_outputs,       ///< (n_embd) the outputs of all heads, side by side: what attn.c_proj reads
  attn_output,        ///< (n_embd) what attention adds to the residual stream
  ln_2_statistics,    ///< (3) mean, variance and rstd of what ln_2 normalizes
  mlp_output,         ///< (n_embd) what the feed-forward layer adds to the residual stream
  block_output,       ///< (n_embd) the residual stream after a block
  ln_f_statistics,    ///< (3) mean, variance and rstd of what ln_f normalizes
  ln_f_output         ///< (n_embd) what the logits are computed from
};

/// A piece of what a pass computes: rows for consecutive tokens of one slice. The memory is the
/// engine's and is overwritten as soon as the observer returns.
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
  std::size_t head;   ///< of attention_weights; 0 for everything else
  std::size_t slice;  ///< which of the slices of the call
  std::size_t first;  ///< the position of row 0's token in its session
  std::size_t rows, cols;
  std::size_t stride;  ///< floats from one row to the next
  const float* data;

  /// Row i, which is of the token at position first + i. REQUIRES: i < rows.
  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept {
    return {data + i * stride, cols};
  }
};

/// Who watches a pass.
struct Observer {
  /// Called with each observation, in the order in which the pass computes them, in the thread that
  /// called forward. If it throws, it is not called again, the pass goes on to its end, and
  /// forward() then throws the same. REQUIRES: does not use the engine of the pass.
  std::function<void(const Observation&)> see;

  /// Which observations to make. It is called before the pass, once for each combination of `what`
  /// and `layer`. Empty: all of them.
  std::function<bool(Observed what, std::size_t layer)> wants = {};
};

/// One forward pass over all slices, as Engine::forward of the first slice's engine, which shows
/// the observer what it computes for every token, whether its logits are asked for or not. The
/// logits and the sessions get the same bits as without an observer. So do the observations,
/// whatever the number of threads, the instruction set and the division of the text into passes.
///
/// A slice of more than about 512 tokens is shown in several pieces: first all layers of the first
/// piece, then all layers of the next.
///
/// The attention weights are those that the pass multiplied the values with. The statistics are
/// computed in double from the same rows that LayerNorm reads, which computes in float. The
/// variance is divided by n_embd, and rstd is 1 / sqrt(variance + layer_norm_epsilon).
///
/// Cost: a forward pass in which all rows go through the last block, and what the observer itself
/// takes. The statistics and the attention weights are computed in the calling thread for the
/// observer alone. Allocates 512 * n_positions floats. A pass without an observer pays nothing for
/// all this.
///
/// Throws as Engine::forward does, and Error(invalid_argument) if `see` is empty; then changes
/// nothing. Throws std::bad_alloc. Does nothing for no slices.
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
