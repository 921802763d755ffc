#include "model/block.h"

namespace gpt2 {

void Block::forward(Team& team, Matrix x, const Batch& batch, Workspace& ws) const noexcept {
  // x = x + attn(ln_1(x))
  attn.forward(team, x, normalize(team, x, ln_1, ws), batch, ws);

  // x = x + mlp(ln_2(x))
  mlp.forward(team, x, normalize(team, x, ln_2, ws), ws);
}

ConstMatrix normalize(Team& team, ConstMatrix x, const LayerNorm& norm, Workspace& ws) noexcept {
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

}  // namespace gpt2
