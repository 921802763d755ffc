#pragma once

#include <cstdint>

#include "base/team.h"
#include "gpt2/tensor.h"
#include "model/weight.h"
#include "model/workspace.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// A linear layer: y = x w + b.
struct Linear {
  Weight weight;
  Tensor bias;  ///< (n), or empty if there is none

  enum class Output : std::uint8_t { store, accumulate };

  /// y = activation(x w + b), or y += activation(x w + b). y: (x.rows, n), must not overlap x.
  void forward(Team& team, Matrix y, ConstMatrix x, Workspace& ws, Output output = Output::store,
               ActivationKernel activation = nullptr) const noexcept;
};

/// rows[i] = x[i] w for every row of x. The rows of results may be anywhere in memory: each thread
/// computes a tile of columns and copies its rows from there, which Linear::forward need not do. In
/// return, there is no bias, no activation and no special path for a single row. REQUIRES:
/// the layout of `weight` is nk, or it is quantized.
void project_rows(Team& team, float* const* rows, const Weight& weight, ConstMatrix x,
                  Workspace& ws) noexcept;

}  // namespace gpt2
