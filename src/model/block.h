#pragma once

#include "base/team.h"
#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/batch.h"
#include "model/feed_forward.h"
#include "model/layer_norm_rows.h"
#include "model/watch.h"
#include "model/workspace.h"

namespace gpt2 {

/// Returns norm(x), which is stored in ws.normed.
inline Matrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm,
                        Workspace& ws) noexcept {
  const Matrix y = ws.normed.top(x.rows);
  constexpr std::size_t kRows = 8;  // take about a microsecond, as long as sharing them out
  team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end, int) {
    layer_norm_rows(norm, y.row(begin), x.row(begin), end - begin, x.cols);
  });
  return y;
}

/// The same for a LayerNorm in a pass, which may have an observer.
inline Matrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm, const Batch& batch,
                        Workspace& ws, ObservedNorm place) noexcept {
  const Matrix y = normalize(team, x, norm, ws);
  if (batch.watch) batch.watch->show_norm(place, batch, x, y, norm);
  return y;
}

/// One pre-norm transformer block.
struct Block {
  LayerNorm ln_1;
  Attention attn;
  LayerNorm ln_2;
  FeedForward mlp;

  /// Advances the residual stream x (rows, n_embd) in place, and appends the keys and values of the
  /// batch to its caches. Returns x. If `is_last` is true, returns only the rows whose logits were
  /// requested, which it moves to the front of x.
  Matrix forward(Team& team, Matrix x, const Batch& batch, Workspace& ws,
                 bool is_last) const noexcept {
    using enum Observed;
    const ObservedNorm first = {ln_1_statistics, ln_1_output, attn.layer};
    const ObservedNorm second = {ln_2_statistics, ln_2_output, attn.layer};

    // x = x + attn(ln_1(x))
    x = attn.forward(team, x, normalize(team, x, ln_1, batch, ws, first), batch, ws, is_last);

    // x = x + mlp(ln_2(x))
    mlp.forward(team, x, normalize(team, x, ln_2, batch, ws, second), batch, ws, attn.layer);
    return x;
  }
};

}  // namespace gpt2
