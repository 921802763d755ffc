#pragma once

#include "base/team.h"
#include "gpt2/layer_norm.h"
#include "model/attention.h"
#include "model/batch.h"
#include "model/feed_forward.h"
#include "model/workspace.h"

namespace gpt2 {

/// norm(x), in ws.normed.
inline ConstMatrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm,
                             Workspace& ws) noexcept {
  const Matrix y = ws.normed.top(x.rows);
  const float* const weight = norm.weight.size() > 0 ? norm.weight.data() : nullptr;
  const float* const bias = norm.bias.size() > 0 ? norm.bias.data() : nullptr;
  constexpr std::size_t kRows = 8;  // take about a microsecond: as long as sharing them out does
  team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end, int) {
    kernels().layer_norm(y.row(begin), x.row(begin), weight, bias, end - begin, x.cols, norm.eps());
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
