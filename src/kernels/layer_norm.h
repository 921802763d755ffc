#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// Rows normalised side by side: a row's sums are one chain of dependent additions, and the chains
/// of several rows fill each other's waiting times.
inline constexpr std::size_t kNormRows = 4;

// The variance takes a second pass over rows that are still in L1: E[x^2] - mean^2 would cancel
// where |mean| is large against the deviation, and it can come out negative.
//
// Squares of deviations beyond 1e19 overflow f32, those below 1e-19 vanish in it. Then nothing is
// written, and the answer is the factor by which to scale the rows; 1 where all is done.
template <class Vec, std::size_t kRows>
float layer_norm_rows(float* y, const float* x, const float* weight, const float* bias,
                      std::size_t n, float epsilon, float scaling) {
  const float count = static_cast<float>(n);
  const Vec factor = Vec::broadcast(scaling);
  Vec sum[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r] = fma(load<Vec>(x + r * n + i, lanes), factor, sum[r]);
    }
  });
  float mean[kRows];
  for (std::size_t r = 0; r < kRows; ++r) mean[r] = reduce_add(sum[r]) / count;

  Vec squares[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec value = load<Vec>(x + r * n + i, lanes, mean[r] / scaling);
      const Vec deviation = fma(value, factor, Vec::broadcast(-mean[r]));
      squares[r] = fma(deviation, deviation, squares[r]);
    }
  });
  Vec rstd[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    const float variance = reduce_add(squares[r]) / count;
    if (scaling == 1.0f && !(variance <= 0x1p127f)) return 0x1p-80f;
    if (scaling == 1.0f && variance + epsilon < 0x1p-100f) return 0x1p80f;
    rstd[r] = Vec::broadcast(1.0f) / sqrt(Vec::broadcast(variance + epsilon));
  }

  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : Vec::broadcast(1.0f);
    const Vec shift = bias ? load<Vec>(bias + i, lanes) : Vec::broadcast(0.0f);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec value = load<Vec>(x + r * n + i, lanes);
      const Vec deviation = fma(value, factor, Vec::broadcast(-mean[r]));
      store(y + r * n + i, fma(deviation * rstd[r], scale, shift), lanes);
    }
  });
  return 1.0f;
}

/// One row, at whatever size its squares can be summed at.
template <class Vec>
void layer_norm_row(float* y, const float* x, const float* weight, const float* bias,
                    std::size_t n, float epsilon) {
  const float scaling = layer_norm_rows<Vec, 1>(y, x, weight, bias, n, epsilon, 1.0f);
  if (scaling == 1.0f) return;
  // A row of equal values stays one: epsilon does not vanish.
  const float scaled = epsilon * scaling * scaling;
  epsilon = epsilon > 0.0f && scaled < 0x1p-126f ? 0x1p-126f : scaled;
  layer_norm_rows<Vec, 1>(y, x, weight, bias, n, epsilon, scaling);
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t rows,
                std::size_t n, float epsilon) noexcept {
  for (std::size_t row = 0; row < rows; row += kNormRows) {
    with_rows<kNormRows>(rows - row, [&](auto count) {
      float* const to = y + row * n;
      const float* const from = x + row * n;
      if (layer_norm_rows<Vec, count.value>(to, from, weight, bias, n, epsilon, 1.0f) == 1.0f) return;
      for (std::size_t r = 0; r < count.value; ++r) {
        layer_norm_row<Vec>(to + r * n, from + r * n, weight, bias, n, epsilon);
      }
    });
  }
}

}  // namespace gpt2
