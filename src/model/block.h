#pragma once

#include "base/parallel.h"
#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/batch.h"
#include "model/feed_forward.h"
#include "model/workspace.h"

namespace gpt2 {

/// One pre-norm transformer block.
struct Block {
  LayerNorm ln_1;
  Attention attn;
  LayerNorm ln_2;
  FeedForward mlp;

  /// Advances the residual stream x (rows, n_embd) in place and appends the batch's keys and values
  /// to its caches. Returns x: of the last block, its wanted rows. All of the team calls it; it
  /// ends with a barrier.
  Matrix forward(Team& team, Matrix x, const Batch& batch, Workspace& ws,
                 bool is_last) const noexcept;
};

/// norm(x), in ws.normed: the rows shared out among the team, or see each_for_itself.
ConstMatrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm, Workspace& ws) noexcept;

}  // namespace gpt2
