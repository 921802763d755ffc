#pragma once

#include "base/team.h"
#include "model/batch.h"
#include "model/linear.h"

namespace gpt2 {

/// Token and position embeddings. The rows of each table are the output features of an nk Weight,
/// so that a tied model can use the same Weight as wte and as lm_head.
struct Embedding {
  Weight wte;  ///< (vocab_size, n_embd)
  Weight wpe;  ///< (n_positions, n_embd)

  /// x = wte[token] + wpe[position]. Uses ws.normed.
  void forward(Team& team, Matrix x, const Batch& batch, Workspace& ws) const noexcept {
    team.for_each(x.rows, [&](std::size_t i, int) {
      wte.read_row(x.row(i), static_cast<std::size_t>(batch.tokens[i]));
      float* const position = ws.normed.row(i);
      wpe.read_row(position, batch.position[i]);
      kernels().add(x.row(i), position, x.cols);
    });
  }
};

}  // namespace gpt2
