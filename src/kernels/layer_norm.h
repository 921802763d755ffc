#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// Rows normalised side by side: a row's sums are one chain of dependent additions, and the chains
/// of several rows fill each other's waiting times.
inline constexpr std::size_t kNormRows = 4;

// The variance takes a second pass over rows that are still in L1: E[x^2] - mean^2 would cancel
// where |mean| is large against the deviation, and it can come out negative.
template <class Vec, std::size_t kRows>
void layer_norm_rows(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t n, float epsilon) {
  const float count = static_cast<float>(n);
  Vec sum[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) sum[r] = sum[r] + load<Vec>(x + r * n + i, lanes);
  });
  float mean[kRows];
  for (std::size_t r = 0; r < kRows; ++r) mean[r] = reduce_add(sum[r]) / count;

  Vec squares[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec deviation = load<Vec>(x + r * n + i, lanes, mean[r]) - Vec::broadcast(mean[r]);
      squares[r] = fma(deviation, deviation, squares[r]);
    }
  });
  Vec rstd[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    const float variance = reduce_add(squares[r]) / count;
    rstd[r] = Vec::broadcast(1.0f) / sqrt(Vec::broadcast(variance + epsilon));
  }

  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : Vec::broadcast(1.0f);
    const Vec shift = bias ? load<Vec>(bias + i, lanes) : Vec::broadcast(0.0f);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec deviation = load<Vec>(x + r * n + i, lanes) - Vec::broadcast(mean[r]);
      store(y + r * n + i, fma(deviation * rstd[r], scale, shift), lanes);
    }
  });
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t rows,
                std::size_t n, float epsilon) noexcept {
  for (std::size_t row = 0; row < rows; row += kNormRows) {
    with_rows<kNormRows>(rows - row, [&](auto count) {
      layer_norm_rows<Vec, count.value>(y + row * n, x + row * n, weight, bias, n, epsilon);
    });
  }
}

}  // namespace gpt2
