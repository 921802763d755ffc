#pragma once

#include <cstddef>
#include <cstdint>

#include "gpt2/layer_norm.h"
#include "gpt2/tensor.h"
#include "model/pass.h"
#include "model/weight.h"

namespace gpt2 {

/// A linear layer: y = x w + b.
struct Linear {
  Weight weight;
  Tensor bias;  ///< (n), or empty if there is none

  enum class Output : std::uint8_t { store, accumulate };

  /// y = activation(x w + b), or y += activation(x w + b). y: (x.rows, n), must not overlap x.
  void forward(Pass& pass, Matrix y, ConstMatrix x, Output output = Output::store,
               ActivationKernel activation = nullptr) const noexcept;
};

/// What a layer adds to the residual stream: linear(input), which is not computed yet.
struct Branch {
  const Linear& linear;
  ConstMatrix input;
  Observed what;
};

/// Adds linear(input) to x. If an observer wants linear(input), lets it see and change that first,
/// in ws.normed. If the branch has only the rows whose logits were requested, first moves those of
/// x to the front, and leaves out the others.
void operator+=(Rows& x, const Branch& branch) noexcept;

/// results[i] = x[i] w for every row of x. The results may be anywhere in memory: each thread
/// computes a tile of columns and copies its rows from there, which Linear::forward need not do. In
/// return, there is no bias, no activation and no special path for a single row. REQUIRES: the
/// layout of `weight` is nk, or it is quantized.
void project_rows(Pass& pass, float* const* results, const Weight& weight, ConstMatrix x) noexcept;

/// A LayerNorm in a pass.
struct Norm : LayerNorm {
  Observed statistics, output;  ///< what an observer sees of it

  /// Returns the normalized rows, which are stored in ws.normed.
  [[nodiscard]] Rows operator()(const Rows& x) const noexcept;
};

/// Masked multi-head self-attention with a KV cache.
struct Attention {
  Linear c_attn;  ///< n_embd -> queries, keys and values, side by side
  Linear c_proj;  ///< n_embd -> n_embd
  std::size_t n_head;
  std::size_t layer;
  /// The factor of the scores. It includes 1 / sqrt(head_dim) and 1 / (layer + 1) if the config
  /// says so (scale_attn_weights and scale_attn_by_inverse_layer_idx).
  float scale;

  /// Returns c_proj(attention(c_attn(x))), and appends the keys and values of x to their caches. If
  /// pass.only_wanted is true, returns only the rows whose logits were requested. Uses ws.qkv and
  /// ws.attended.
  [[nodiscard]] Branch operator()(const Rows& x) const noexcept;
};

/// The position-wise feed-forward layer.
struct FeedForward {
  Linear c_fc;    ///< n_embd -> inner_dim
  Linear c_proj;  ///< inner_dim -> n_embd
  ActivationKernel activation;

  /// Returns c_proj(activation(c_fc(x))). Uses ws.hidden.
  [[nodiscard]] Branch operator()(const Rows& x) const noexcept;
};

/// One pre-norm transformer block.
struct Block {
  Norm ln_1;
  Attention attn;
  Norm ln_2;
  FeedForward mlp;

  /// Advances the residual stream x (rows, n_embd), and appends the keys and values of the batch to
  /// its caches. `+=` is above: the product with c_proj adds its results to x.
  void operator()(Rows& x) const noexcept {
    x += attn(ln_1(x));
    x.pass.show(Observed::block_middle, x);
    x += mlp(ln_2(x));
  }
};

}  // namespace gpt2
