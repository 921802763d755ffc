#pragma once

#include "base/team.h"
#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/batch.h"
#include "model/feed_forward.h"
#include "model/layer_norm_rows.h"
#include "model/workspace.h"

namespace gpt2 {

/// norm(x), in ws.normed.
inline ConstMatrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm,
                             Workspace& ws) noexcept {
  const Matrix y = ws.normed.top(x.rows);
  constexpr std::size_t kRows = 8;  // take about a microsecond: as long as sharing them out does
  team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end, int) {
    layer_norm_rows(norm, y.row(begin), x.row(begin), end - begin, x.cols);
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
  /// to its caches. Returns x; if is_last, only the rows whose logits were requested.
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
