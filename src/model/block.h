#pragma once

#include "base/parallel.h"
#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/batch.h"
#include "model/feed_forward.h"
#include "model/workspace.h"

namespace gpt2 {

/// norm(x), in ws.normed: the rows shared out among the team, or see each_for_itself.
inline ConstMatrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm,
                             Workspace& ws) noexcept {
  const Matrix y = ws.normed.top(x.rows);
  if (each_for_itself(team, x.rows)) {
    float* const own = y.row(static_cast<std::size_t>(team.rank()));
    norm.forward(own, x.data, 1);
    return {own, 1, y.cols, y.stride};
  }
  constexpr std::size_t kRows = 8;
  team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end) {
    norm.forward(y.row(begin), x.row(begin), end - begin);
  });
  return y;
}

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
                 bool is_last) const noexcept {
    // x = x + attn(ln_1(x))
    x = attn.forward(team, x, normalize(team, x, ln_1, ws), batch, ws, is_last);

    // x = x + mlp(ln_2(x))
    mlp.forward(team, x, normalize(team, x, ln_2, ws), ws);
    return x;
  }
};

}  // namespace gpt2
