#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// The number of rows that are normalized together. The sum of one row is a chain of additions,
/// each of which waits for the one before it. While one chain waits, the CPU works on the chains of
/// the other rows. With AVX2, the second pass needs 4 registers for the sums of each row, so 3 rows
/// leave 4 of the 16 registers for the centers and a value.
inline constexpr std::size_t kNormRows = 3;

/// Sums are chains of at most kNormChunk elements, whose results are a chain in turn, so that the
/// rounding errors of a wide row do not add up.
inline constexpr std::size_t kNormChunk = 4096;

/// What is known of a row: a number near its mean, the mean of the deviations from this number, and
/// the variance.
struct Moments {
  float center, offset, variance;
};

/// Adds up body(r, i, lanes)[s] over the n elements of each of kRows rows, for kSums sums.
template <class Vec, std::size_t kRows, std::size_t kSums, class Body>
[[gnu::always_inline]] inline void add_up(float (&totals)[kRows][kSums], std::size_t n,
                                          const Body& body) {
  Vec total[kRows][kSums] = {};
  for (std::size_t begin = 0; begin < n; begin += kNormChunk) {
    Vec sum[kRows][kSums] = {};
    for_each_vec<Vec>(min(kNormChunk, n - begin), [&](std::size_t i, auto lanes) {
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) body(sum[r], r, begin + i, lanes);
    });
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t s = 0; s < kSums; ++s) total[r][s] = total[r][s] + sum[r][s];
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t s = 0; s < kSums; ++s) totals[r][s] = reduce_add(total[r][s]);
  }
}

/// Computes offset and variance of kRows rows from the deviations from their centers.
///
/// E[x^2] - mean^2 would need one pass over x less, but it loses its digits to cancellation if the
/// mean is large compared with the deviations. Here the same formula is applied to the deviations,
/// whose mean is as small as the rounding error of the center.
template <class Vec, std::size_t kRows>
void measure_deviations(Moments (&rows)[kRows], const float* x, std::size_t n) {
  float sums[kRows][2];
  add_up<Vec>(sums, n, [&](Vec(&sum)[2], std::size_t r, std::size_t i, auto lanes) {
    __builtin_prefetch(x + (r + kRows) * n + i);  // the next kRows rows
    // Adding takes a register less than subtracting: x can be the operand in memory.
    const Vec deviation = keep(load<Vec>(x + r * n + i, lanes) + -rows[r].center, lanes);
    sum[0] = sum[0] + deviation;
    sum[1] = fma(deviation, deviation, sum[1]);
  });
  const float count = static_cast<float>(n);
  for (std::size_t r = 0; r < kRows; ++r) {
    rows[r].offset = sums[r][0] / count;
    rows[r].variance = sums[r][1] / count - rows[r].offset * rows[r].offset;
  }
}

/// Computes the moments of kRows rows of x.
template <class Vec, std::size_t kRows>
void measure(Moments (&rows)[kRows], const float* x, std::size_t n) {
  float sums[kRows][1];
  add_up<Vec>(sums, n, [&](Vec(&sum)[1], std::size_t r, std::size_t i, auto lanes) {
    sum[0] = sum[0] + load<Vec>(x + r * n + i, lanes);
  });
  for (std::size_t r = 0; r < kRows; ++r) rows[r].center = sums[r][0] / static_cast<float>(n);
  measure_deviations<Vec>(rows, x, n);
  for (std::size_t r = 0; r < kRows; ++r) {
    // If a row is very wide or very far from 0, the center is not near the mean. Then center +
    // offset is. It is the value itself if all elements are equal: all deviations become 0.
    if (rows[r].offset * rows[r].offset > rows[r].variance * 0x1p-12f) {
      Moments again[1] = {{rows[r].center + rows[r].offset, 0.0f, 0.0f}};
      measure_deviations<Vec>(again, x + r * n, n);
      rows[r] = again[0];
    }
  }
}

/// Returns the power of two that a row must be multiplied by before it is measured: 1 for most.
///
/// The squares of deviations above 1e19 overflow f32, and those of deviations below 1e-19
/// underflow. 2^-80 brings the largest f32 (2^128) to 2^48, whose square has room for a sum. 2^90
/// brings a deviation of 2^-50, where scaling up begins, to 2^40, and the smallest f32 (2^-149) to
/// 2^-59, whose square is not subnormal. Elements of 2^-20 or more that differ do so by 2^-44 or
/// more, which needs no scaling.
[[gnu::always_inline]] inline float scaling_for(const Moments& row, float epsilon) {
  if (!(row.variance <= 0x1p127f)) return 0x1p-80f;
  const bool is_small =
      row.variance + epsilon < 0x1p-100f && __builtin_fabsf(row.center) < 0x1p-20f;
  return is_small ? 0x1p90f : 1.0f;
}

/// y = (x - center - offset) * rstd * weight + bias for kRows rows.
template <class Vec, std::size_t kRows>
void normalize(float* y, const float* x, const float* weight, const float* bias, std::size_t n,
               const Moments (&rows)[kRows], float epsilon) {
  Vec rstd[kRows], shift[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    const float factor = 1.0f / __builtin_sqrtf(rows[r].variance + epsilon);
    rstd[r] = factor;
    shift[r] = -rows[r].offset * factor;
  }
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : 1.0f;
    const Vec added = bias ? load<Vec>(bias + i, lanes) : 0.0f;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec deviation = load<Vec>(x + r * n + i, lanes) - rows[r].center;
      store(y + r * n + i, fma(fma(deviation, rstd[r], shift[r]), scale, added), lanes);
    }
  });
}

template <class Vec, std::size_t kRows>
void layer_norm_rows(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t n, float epsilon) {
  Moments rows[kRows];
  measure<Vec>(rows, x, n);
  bool is_scaled = false;
  for (std::size_t r = 0; r < kRows; ++r) is_scaled |= scaling_for(rows[r], epsilon) != 1.0f;
  if (!is_scaled) return normalize<Vec>(y, x, weight, bias, n, rows, epsilon);

  for (std::size_t r = 0; r < kRows; ++r) {  // one by one: y has room for the scaled row
    float* const out = y + r * n;
    const float scaling = scaling_for(rows[r], epsilon);
    for (std::size_t i = 0; i < n; ++i) out[i] = x[r * n + i] * scaling;
    Moments row[1];
    measure<Vec>(row, out, n);
    // Epsilon must not become 0, because a row of equal values would divide by it.
    const float scaled = epsilon * scaling * scaling;
    normalize<Vec>(out, out, weight, bias, n, row,
                   epsilon > 0.0f && scaled < 0x1p-126f ? 0x1p-126f : scaled);
  }
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
