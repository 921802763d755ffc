#pragma once

#include <cstdint>

#include "gpt2/tensor.h"
#include "model/pass.h"
#include "model/weight.h"

namespace gpt2 {

/// A linear layer: y = x w + b.
struct Linear {
  Weight weight;
  Tensor bias;  ///< (n), or empty if there is none

  enum class Output : std::uint8_t { store, accumulate };

  /// y = activation(x w + b), or y += activation(x w + b). y: (x.rows, n), must not overlap x.
  void forward(Pass& pass, Matrix y, ConstMatrix x, Output output = Output::store,
               ActivationKernel activation = nullptr) const noexcept;
};

/// What a layer adds to the residual stream: linear(input), which is not computed yet.
struct Branch {
  const Linear& linear;
  ConstMatrix input;
  Observed what;
};

/// Adds linear(input) to x. If an observer wants linear(input), lets it see and change that first,
/// in ws.normed. If the branch has only the rows whose logits were requested, first moves those of
/// x to the front, and leaves out the others.
void operator+=(Rows& x, const Branch& branch) noexcept;

/// results[i] = x[i] w for every row of x. The results may be anywhere in memory: each thread
/// computes a tile of columns and copies its rows from there, which Linear::forward need not do. In
/// return, there is no bias, no activation and no special path for a single row. REQUIRES: the
/// layout of `weight` is nk, or it is quantized.
void project_rows(Pass& pass, float* const* results, const Weight& weight, ConstMatrix x) noexcept;

}  // namespace gpt2
