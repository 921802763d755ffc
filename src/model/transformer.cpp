#include "model/transformer.h"

namespace gpt2 {
namespace {

void show(Team& team, ForwardObserver* observer, std::size_t stage, ConstMatrix x) noexcept {
  if (observer == nullptr) return;
  if (team.rank() == 0) observer->hidden_states(stage, x);
  team.barrier();
}

}  // namespace

void Transformer::forward(Team& team, const Batch& batch, Workspace& ws,
                          ForwardObserver* observer) const noexcept {
  const Matrix x = ws.x.top(batch.tokens.size());
  embedding.forward(team, x, batch, ws);
  show(team, observer, 0, x);

  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    blocks[layer].forward(team, x, batch, ws);
    show(team, observer, layer + 1, x);
  }

  const Matrix normed = ws.normed.top(batch.wanted.size());
  team.for_each(normed.rows,
                [&](std::size_t i) { ln_f.forward(normed.row(i), x.row(batch.wanted[i]), 1); });
  show(team, observer, blocks.size() + 1, normed);
  if (normed.rows > 0) project_rows(team, batch.logits.data(), lm_head, normed, ws);
}

}  // namespace gpt2
