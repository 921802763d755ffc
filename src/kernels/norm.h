#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// The number of rows that are normalized together. The sum of one row is a chain of additions,
/// each of which waits for the one before it. While one chain waits, the CPU works on the chains of
/// the other rows. With AVX2, the last loop needs 3 registers for each row (scaling, mean and rstd)
/// and 4 registers for weight and bias, so 3 rows leave 3 of the 16 registers free.
inline constexpr std::size_t kNormRows = 3;

/// The mean and the variance of a row whose elements are multiplied by `scaling`.
struct Moments {
  float scaling, mean, variance;
};

/// Computes the moments of kRows rows of x.
///
/// The variance takes a second pass over the rows, which are still in the L1 cache. E[x^2] - mean^2
/// would need one pass only, but it loses its digits to cancellation if |mean| is large compared
/// with the deviations, and it can even be negative.
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
      __builtin_prefetch(x + (r + kRows) * n + i);  // the next kRows rows
      const Vec value = load<Vec>(x + r * n + i, lanes);
      const Vec deviation = keep(fma(value, scaling, -mean), lanes);
      squares[r] = fma(deviation, deviation, squares[r]);
    }
  });
  for (std::size_t r = 0; r < kRows; ++r) rows[r].variance = reduce_add(squares[r]) / count;
}

/// Returns 1 / sqrt(variance + epsilon) for the row multiplied by `row.scaling`. May change `row`.
///
/// The squares of deviations above 1e19 overflow f32, and those of deviations below 1e-19
/// underflow. If the variance shows that this may have happened, the row is measured again, scaled
/// down by 2^80 or up by 2^90. This brings the largest f32 (2^128) to 2^48, whose square has room
/// for a sum. It brings a deviation of 2^-50, where scaling up begins, to 2^40, and the smallest
/// f32 (2^-149) to 2^-59, whose square is not subnormal. Epsilon is scaled like the variance.
template <class Vec>
float reciprocal_deviation(Moments& row, const float* x, std::size_t n, float epsilon) {
  if (!(row.variance <= 0x1p127f) || row.variance + epsilon < 0x1p-100f) {
    const float scaling = row.variance < 1.0f ? 0x1p90f : 0x1p-80f;
    Moments again[1];
    measure<Vec>(again, x, n, scaling);
    row = again[0];
    // Epsilon must not underflow to 0, because a row of equal values would divide by zero.
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
