#pragma once

#include "base/team.h"
#include "model/linear.h"
#include "model/watch.h"
#include "model/workspace.h"

namespace gpt2 {

/// The position-wise feed-forward layer.
struct FeedForward {
  Linear c_fc;    ///< n_embd -> inner_dim
  Linear c_proj;  ///< inner_dim -> n_embd
  ActivationKernel activation;

  /// x += c_proj(activation(c_fc(normed))). Uses ws.hidden.
  void forward(Team& team, Matrix x, ConstMatrix normed, const Batch& batch, Workspace& ws,
               std::size_t layer) const noexcept {
    const Matrix hidden = ws.hidden.top(normed.rows);
    c_fc.forward(team, hidden, normed, ws, Linear::Output::store, activation);
    if (batch.watch) batch.watch->show(Observed::mlp_activations, layer, batch, hidden);
    add_branch(team, x, c_proj, hidden, batch, ws, Observed::mlp_output, layer);
  }
};

}  // namespace gpt2
