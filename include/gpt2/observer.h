#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "gpt2/session.h"

// Observing and changing a forward pass: the values that each layer computes before the logits.

namespace [[gnu::visibility("default")]] gpt2 {

/// The values that can be observed and changed. A block computes first x = x + attn(ln_1(x)) and
/// then x = x + mlp(ln_2(x)), where x is the residual stream. Each comment gives the shape of a
/// row; there is one row for each token.
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
  mlp_activations,    ///< (inner_dim) the output of the activation: the input of mlp.c_proj
  block_middle,       ///< (n_embd) the residual stream after attention: the input of ln_2
  mlp_preactivations  ///< (inner_dim) the output of mlp.c_fc: the input of the activation
};

/// The number of values of Observed.
inline constexpr auto kObservedCount = static_cast<std::size_t>(Observed::mlp_preactivations) + 1;

/// Some of the values that a pass computes: rows for consecutive tokens of one slice. The engine
/// owns the memory and overwrites it as soon as the observer returns. T is const float for an
/// Observation and float for an Intervention.
///
/// Example:
///   const auto sum = [](const Observation& seen) {
///     double total = 0.0;
///     for (std::size_t i = 0; i < seen.rows; ++i) {
///       for (const float value : seen.row(i)) total += value;
///     }
///     return total;
///   };
template <class T>
struct BasicObservation {
  Observed what;
  std::size_t layer;  ///< the block, from 0; 0 for the embeddings and n_layer for ln_f
  std::size_t head;   ///< the head for attention_weights; 0 for everything else
  std::size_t slice;  ///< the index of the slice in the call
  std::size_t first;  ///< the position of row 0's token in its session
  std::size_t rows, cols;
  std::size_t stride;  ///< floats from one row to the next
  T* data;

  /// Row i, which is of the token at position first + i. REQUIRES: i < rows.
  [[nodiscard]] std::span<T> row(std::size_t i) const noexcept { return {data + i * stride, cols}; }

  /// The same values, which can then only be read.
  operator BasicObservation<const T>() const noexcept {
    return {what, layer, head, slice, first, rows, cols, stride, data};
  }
};

/// Values to look at.
using Observation = BasicObservation<const float>;

/// Values to change, in place: the pass goes on with whatever the observer leaves in the rows. Rows
/// that the observer does not change keep their bits.
///
/// This is what the pass computes from the changed values:
///
///   statistics         If mean or rstd of a row has changed, the output of the LayerNorm is
///                      (x[i] - mean) * rstd * weight[i] + bias[i], computed in float. The variance
///                      only informs: changing it alone has no effect.
///   attention_weights  If a weight of a token up to the row's own has changed, this head's output
///                      in this row is the sum of the stored values, multiplied by these weights,
///                      computed in double. The weights need not add up to 1. What is written to
///                      the zeros of later tokens has no effect.
///   keys, values       These are stored in the session, so that later tokens see them, also in
///                      later passes.
///   block_middle       This is the residual stream that ln_2 and the rest of the block start from.
///   block_output       The same for the next block, or ln_f.
///
/// Example, which removes the contribution of the head whose outputs begin at column `begin`:
///   const std::size_t begin = 64, head_dim = 64;
///   const auto remove_head = [&](const Intervention& outputs) {
///     for (std::size_t i = 0; i < outputs.rows; ++i) {
///       for (float& value : outputs.row(i).subspan(begin, head_dim)) value = 0.0f;
///     }
///   };
using Intervention = BasicObservation<float>;

/// Sees or changes values that a pass computes, or both.
struct Observer {
  /// Called with each observation, in the order in which the pass computes them, on the thread that
  /// called forward(). If it throws, the observer is not called again; the pass runs to its end,
  /// and forward() then throws the same exception. REQUIRES: does not use the engine of the pass,
  /// whose functions throw Error(invalid_argument) in it, nor sessions on that engine.
  std::function<void(const Observation&)> see = {};

  /// Returns whether to observe this. Called before the pass, once for each combination of `what`
  /// and `layer`. Empty: everything is observed. Has no effect without `see`.
  std::function<bool(Observed what, std::size_t layer)> wants = {};

  /// Called like `see`, with the same rows, but before it: `see` is shown the changed values. It
  /// may write any values, including infinities and NaN. REQUIRES: writes only to the elements of
  /// the rows, and uses neither the engine of the pass nor sessions on that engine.
  std::function<void(const Intervention&)> change = {};

  /// Returns whether to call `change` for this. Called like `wants`. Empty: `change` is called for
  /// everything. Has no effect without `change`.
  std::function<bool(Observed what, std::size_t layer)> changes = {};
};

/// Runs one forward pass over all slices, as Engine::forward does, on the engine of the first
/// slice's session, and shows the observer the values that it computes for every token, including
/// tokens whose logits are not requested. The observations have the same bits for any number of
/// threads, on every instruction set, and however the text is divided into passes.
///
/// Without `change`, the logits and the sessions have the same bits as without an observer. They
/// also have the same bits if `change` leaves the values as they are, for example because it writes
/// what `see` was shown in an earlier pass over the same tokens. If `change` writes other values,
/// the results still have the same bits for any number of threads and so on, as long as what it
/// writes to a row depends only on the row itself, its position, `what`, `layer` and `head`.
///
/// The session stores the keys and values that follow from the changed values, so later passes,
/// forks and files of the session continue from them. Whatever computes tokens again does so
/// without the change: after rewind() or slide(), and generate() without a prompt, which computes
/// the last token again.
///
/// A slice of more than about 512 tokens is shown in several pieces: first all layers of the first
/// piece, then all layers of the next.
///
/// The attention weights are the ones by which the pass multiplied the values. The statistics are
/// computed in double, as in LayerNorm, and rounded to float. The variance is divided by n_embd,
/// and rstd is 1 / sqrt(variance + layer_norm_epsilon).
///
/// Cost: a forward pass that computes all rows of the last block, plus the time of the observer
/// itself. The calling thread computes the statistics and the attention weights for the observer
/// alone, and the rows whose statistics or weights were changed. Allocates 512 * n_positions
/// floats; twice as many if `change` is set. A pass without an observer has no extra cost.
///
/// Throws as Engine::forward does, and Error(invalid_argument) if both `see` and `change` are
/// empty; in that case, nothing has changed. Throws std::bad_alloc. Does nothing if there are no
/// slices.
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
///
/// Example, which computes the logits as if the feed-forward layer of block 2 did not exist:
///   std::vector<float> logits(model.config().vocab_size);  // after the last token
///   Session other(model);
///   const Slice ablated = {&other, text, logits};
///   const auto zero = [](const Intervention& output) {
///     for (std::size_t i = 0; i < output.rows; ++i) {
///       for (float& value : output.row(i)) value = 0.0f;
///     }
///   };
///   const auto where = [](Observed what, std::size_t layer) {
///     return what == Observed::mlp_output && layer == 2;
///   };
///   forward({&ablated, 1}, {.change = zero, .changes = where});
void forward(std::span<const Slice> slices, const Observer& observer);

/// The names of a kind of values that can be observed.
struct ObservedName {
  Observed what;
  std::string_view name;  ///< the enumerator: "ln_1_output"

  /// The hook of TransformerLens 4 that has these values in a TransformerBridge without
  /// enable_compatibility_mode(), with N for the layer: "blocks.N.ln1.hook_out". The values have
  /// its shape once a row of n_embd is divided into n_head rows for queries, keys, values and
  /// head_outputs. Its scale is 1 / rstd, the third of our statistics.
  /// https://transformerlensorg.github.io/TransformerLens/
  std::string_view transformer_lens;

  bool is_in_block;  ///< whether each block has them, or the model once
};

/// Returns the names of all values, in the order of Observed. Any thread may call it. Cost: none.
///
/// Example:
///   for (const ObservedName& observed : observed_names()) {
///     std::cout << observed.name << " is " << observed.transformer_lens << '\n';
///   }
[[nodiscard]] std::span<const ObservedName> observed_names();

}  // namespace gnu::visibility("default")]]gpt2
