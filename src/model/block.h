#pragma once

#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/linear.h"
#include "model/pass.h"

namespace gpt2 {

/// A LayerNorm in a pass.
struct Norm : LayerNorm {
  Observed statistics, output;  ///< what an observer sees of it

  /// Returns the normalized rows, which are stored in ws.normed.
  [[nodiscard]] Rows operator()(const Rows& x) const noexcept;
};

/// The position-wise feed-forward layer.
struct FeedForward {
  Linear c_fc;    ///< n_embd -> inner_dim
  Linear c_proj;  ///< inner_dim -> n_embd
  ActivationKernel activation;

  /// Returns c_proj(activation(c_fc(x))). Uses ws.hidden.
  [[nodiscard]] Branch operator()(const Rows& x) const noexcept {
    const Matrix hidden = x.pass.ws.hidden.top(x.rows);
    c_fc.forward(x.pass, hidden, x, Linear::Output::store, activation);
    x.pass.show(Observed::mlp_activations, hidden);
    return {c_proj, hidden, Observed::mlp_output};
  }
};

/// One pre-norm transformer block.
struct Block {
  Norm ln_1;
  Attention attn;
  Norm ln_2;
  FeedForward mlp;

  /// Advances the residual stream x (rows, n_embd), and appends the keys and values of the batch to
  /// its caches. `+=` is in linear.h: the product with c_proj adds its results to x.
  void operator()(Rows& x) const noexcept {
    x += attn(ln_1(x));
    x += mlp(ln_2(x));
  }
};

}  // namespace gpt2
