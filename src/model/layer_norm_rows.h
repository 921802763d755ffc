#pragma once

#include <cstddef>

#include "gpt2/layer_norm.h"
#include "kernels/kernels.h"

namespace gpt2 {

/// Like LayerNorm::forward, but does not set the floating-point state, which the caller must have
/// set. `n` is the number of elements of a row.
inline void layer_norm_rows(const LayerNorm& norm, float* y, const float* x, std::size_t rows,
                            std::size_t n) noexcept {
  const float* const weight = norm.weight.size() > 0 ? norm.weight.data() : nullptr;
  const float* const bias = norm.bias.size() > 0 ? norm.bias.data() : nullptr;
  norm_kernels().layer_norm(y, x, weight, bias, rows, n, norm.eps());
}

}  // namespace gpt2
