#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

/// The number of rows that are normalized together, so that weight and bias are converted to f64
/// once for all of them.
template <class Vec>
inline constexpr std::size_t kNormRows = 3;

/// The number of rows that are measured together. The two sums of one row are chains of additions,
/// each of which waits for the one before it. With AVX-512, there are registers for the sums of
/// three rows, so that the CPU works on two chains while one waits. Elsewhere a row has enough
/// additions of its own.
template <class Vec>
inline constexpr std::size_t kMeasuredRows = Vec::Wide::kRegisters == 2 ? kNormRows<Vec> : 1;

/// What is known of a row. Its mean is center + offset.
struct Moments {
  double center, offset, variance;
};

/// Computes the moments of kRows rows from the deviations from their centers, which are 0 unless
/// the rows are far from 0. The squares of floats are exact in f64. E[x^2] - mean^2 loses a bit to
/// cancellation if the mean is one deviation, and more if it is larger.
template <class Vec, std::size_t kRows, bool kIsFar>
[[gnu::always_inline]] inline void measure(Moments* rows, const float* x, std::size_t n) {
  using Wide = typename Vec::Wide;
  Wide sum[kRows], squares[kRows];
  for (std::size_t r = 0; r < kRows; ++r) sum[r] = squares[r] = 0.0;
  for_each_vec<Wide>(n, [&](std::size_t i, auto lanes) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const Wide value = load<Wide>(x + r * n + i, lanes);
      if constexpr (kIsFar) {
        const Wide deviation = keep(value - rows[r].center, lanes);
        sum[r] = sum[r] + deviation;
        squares[r] = squares[r] + deviation * deviation;
      } else {
        sum[r] = sum[r] + value;
        squares[r] = add_square(squares[r], value);
      }
    }
  });
  const auto count = static_cast<double>(n);
  for (std::size_t r = 0; r < kRows; ++r) {
    const double offset = reduce_add(sum[r]) / count;
    rows[r] = {rows[r].center, offset, reduce_add(squares[r]) / count - offset * offset};
  }
}

/// y = (x - center - offset) * rstd * weight + bias for kRows rows. Without kIsFar, all centers
/// are 0.
template <class Vec, std::size_t kRows, bool kIsFar>
void normalize(float* y, const float* x, const float* weight, const float* bias, std::size_t n,
               const Moments (&rows)[kRows], double epsilon) {
  using Wide = typename Vec::Wide;
  Wide offset[kRows], rstd[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    offset[r] = rows[r].offset;
    const double square = rows[r].variance + epsilon;
    rstd[r] = square == 0.0 ? 0.0 : 1.0 / __builtin_sqrt(square);  // 0 deviations times 0 are 0
  }
  for_each_vec<Wide>(n, [&](std::size_t i, auto lanes) {
    const Wide scale = weight ? load<Wide>(weight + i, lanes) : 1.0;
    const Wide added = bias ? load<Wide>(bias + i, lanes) : 0.0;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      Wide deviation = load<Wide>(x + r * n + i, lanes);
      if constexpr (kIsFar) deviation = deviation - rows[r].center;
      deviation = deviation - offset[r];
      store(y + r * n + i, deviation * rstd[r] * scale + added, lanes);
    }
  });
}

template <class Vec, std::size_t kRows>
void layer_norm_rows(float* y, const float* x, const float* weight, const float* bias,
                     std::size_t n, double epsilon) {
  Moments rows[kRows] = {};
  constexpr std::size_t kTogether = min(kRows, kMeasuredRows<Vec>);
  for (std::size_t r = 0; r < kRows; r += kTogether) {
    measure<Vec, kTogether, false>(rows + r, x + r * n, n);
  }
  bool is_far = false;
  for (std::size_t r = 0; r < kRows; ++r) {
    const double mean = rows[r].offset;
    if (mean * mean > rows[r].variance + epsilon) {
      // No element of the row is nearer to the mean than the float next to it, so from this center
      // the offset is at most one deviation. And it keeps the bits that f64 has no room for in the
      // mean of a row far from 0.
      rows[r].center = static_cast<float>(mean);
      measure<Vec, 1, true>(rows + r, x + r * n, n);
      is_far = true;
    }
  }
  if (is_far) return normalize<Vec, kRows, true>(y, x, weight, bias, n, rows, epsilon);
  normalize<Vec, kRows, false>(y, x, weight, bias, n, rows, epsilon);
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t rows,
                std::size_t n, float epsilon) noexcept {
  for (std::size_t row = 0; row < rows; row += kNormRows<Vec>) {
    with_count<kNormRows<Vec>>(rows - row, [&](auto count) {
      layer_norm_rows<Vec, count.value>(y + row * n, x + row * n, weight, bias, n, epsilon);
    });
  }
}

}  // namespace gpt2
