#include "model/block.h"

namespace gpt2 {

void Block::forward(Team& team, Matrix x, const Batch& batch, Workspace& ws) const noexcept {
  const Matrix normed = ws.normed.top(x.rows);

  // x = x + attn(ln_1(x))
  normalize(team, normed, x, ln_1);
  attn.forward(team, x, normed, batch, ws);

  // x = x + mlp(ln_2(x))
  normalize(team, normed, x, ln_2);
  mlp.forward(team, x, normed, ws);
}

void normalize(Team& team, Matrix y, ConstMatrix x, const LayerNorm& norm) noexcept {
  constexpr std::size_t kRows = 8;
  team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end) {
    norm.forward(y.row(begin), x.row(begin), end - begin);
  });
}

}  // namespace gpt2
