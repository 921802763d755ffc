#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// Rows normalised side by side: a row's sums are one chain of dependent additions, and the chains
/// of several rows fill each other's waiting times.
inline constexpr std::size_t kNormRows = 3;

/// A row times `scaling`: its mean and its variance.
struct Moments {
  float scaling, mean, variance;
};

// The variance takes a second pass over rows that are still in L1: E[x^2] - mean^2 would cancel
// where |mean| is large against the deviation, and it can come out negative.
template <class Vec, std::size_t kRows>
void measure(Moments (&rows)[kRows], const float* x, std::size_t n, float scaling) {
  const float count = static_cast<float>(n);
  Vec sum[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r] = fma(load<Vec>(x + r * n + i, lanes), scaling, sum[r]);
    }
  });
  for (std::size_t r = 0; r < kRows; ++r) rows[r] = {scaling, reduce_add(sum[r]) / count, 0.0f};

  Vec squares[kRows] = {};
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const float mean = rows[r].mean;
      __builtin_prefetch(x + (r + kRows) * n + i);  // the rows that come next
      const Vec value = load<Vec>(x + r * n + i, lanes, mean / scaling);
      const Vec deviation = fma(value, scaling, -mean);
      squares[r] = fma(deviation, deviation, squares[r]);
    }
  });
  for (std::size_t r = 0; r < kRows; ++r) rows[r].variance = reduce_add(squares[r]) / count;
}

/// 1 / sqrt(variance + epsilon). Squares of deviations beyond 1e19 overflow f32, those below 1e-19
/// vanish in it: such a row is measured again at another size.
template <class Vec>
float reciprocal_deviation(Moments& row, const float* x, std::size_t n, float epsilon) {
  if (!(row.variance <= 0x1p127f) || row.variance + epsilon < 0x1p-100f) {
    const float scaling = row.variance < 1.0f ? 0x1p80f : 0x1p-80f;
    Moments again[1];
    measure<Vec>(again, x, n, scaling);
    row = again[0];
    // A row of equal values stays one: epsilon does not vanish.
    const float scaled_epsilon = epsilon * scaling * scaling;
    epsilon = epsilon > 0.0f && scaled_epsilon < 0x1p-126f ? 0x1p-126f : scaled_epsilon;
  }
  return 1.0f / __builtin_sqrtf(row.variance + epsilon);
}

template <class Vec, std::size_t kRows>
void layer_norm_rows(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t n, float epsilon) {
  Moments rows[kRows];
  measure<Vec>(rows, x, n, 1.0f);
  Vec rstd[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    rstd[r] = reciprocal_deviation<Vec>(rows[r], x + r * n, n, epsilon);
  }
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : 1.0f;
    const Vec shift = bias ? load<Vec>(bias + i, lanes) : 0.0f;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec deviation = fma(load<Vec>(x + r * n + i, lanes), rows[r].scaling, -rows[r].mean);
      store(y + r * n + i, fma(deviation * rstd[r], scale, shift), lanes);
    }
  });
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t rows,
                std::size_t n, float epsilon) noexcept {
  for (std::size_t row = 0; row < rows; row += kNormRows) {
    with_count<kNormRows>(rows - row, [&](auto count) {
      layer_norm_rows<Vec, count.value>(y + row * n, x + row * n, weight, bias, n, epsilon);
    });
  }
}

}  // namespace gpt2
