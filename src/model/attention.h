#pragma once

#include "model/linear.h"
#include "model/pass.h"

namespace gpt2 {

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

}  // namespace gpt2
