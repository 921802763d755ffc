#pragma once

#include "base/team.h"
#include "model/batch.h"
#include "model/linear.h"
#include "model/workspace.h"

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

  /// x += attn(normed). Appends the keys and values of the batch to its caches. x, normed: (rows,
  /// n_embd). Returns x. If `only_wanted` is true, moves the rows whose logits were requested to
  /// the front of x and returns only these rows. Uses ws.qkv and ws.attended.
  Matrix forward(Team& team, Matrix x, ConstMatrix normed, const Batch& batch, Workspace& ws,
                 bool only_wanted) const noexcept;
};

}  // namespace gpt2
