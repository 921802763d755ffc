#pragma once

#include "base/parallel.h"
#include "model/batch.h"
#include "model/linear.h"

namespace gpt2 {

/// Token and position embeddings. A table's rows are the output features of an nk Weight: the token
/// embedding of a tied model and its lm_head are one and the same.
struct Embedding {
  Weight wte;  ///< (vocab_size, n_embd)
  Weight wpe;  ///< (n_positions, n_embd)

  /// x = wte[token] + wpe[position]. All of the team calls it; ends with a barrier.
  void forward(Team& team, Matrix x, const Batch& batch, Workspace& ws) const noexcept;
};

}  // namespace gpt2
