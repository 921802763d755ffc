#pragma once

#include "kernels/matmul.h"

// Weights that lie as [n, k]: dot products of rows with rows, sixteen lane chains each.

namespace gpt2 {

/// A tile of dot products: kRows rows of x with kColumns rows of w. Lane by lane, chunk sums are
/// added to `total`.
template <class Vec, std::size_t kRows, std::size_t kColumns, class Stored>
[[gnu::always_inline]] inline void dot_tile(Vec (&total)[kRows][kColumns], const float* x,
                                            std::size_t x_stride, const Stored* w, std::size_t k) {
  for (std::size_t begin = 0; begin < k; begin += kChunk) {
    Vec sum[kRows][kColumns];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kColumns; ++j) sum[i][j] = Vec::broadcast(0.0f);
    }
    for_each_vec<Vec>(k - begin < kChunk ? k - begin : kChunk, [&](std::size_t at, auto lanes) {
      Vec column[kColumns];
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kColumns; ++j)
        column[j] = load<Vec>(w + j * k + begin + at, lanes);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRows; ++i) {
        const Vec factor = load<Vec>(x + i * x_stride + begin + at, lanes);
#pragma GCC unroll 16
        for (std::size_t j = 0; j < kColumns; ++j) sum[i][j] = fma(factor, column[j], sum[i][j]);
      }
    });
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kColumns; ++j) {
        total[i][j] = begin == 0 ? sum[i][j] : total[i][j] + sum[i][j];
      }
    }
  }
}

/// sums[row, 0 ... kColumns) of all rows.
template <class Vec, std::size_t kColumns, class Stored>
void dot_columns(const Matmul& product, const Stored* w, float* sums, std::size_t sum_stride) {
  constexpr std::size_t kMost = Vec::kDotRows;
  for (std::size_t row = 0; row < product.m; row += kMost) {
    with_rows<kMost>(product.m - row, [&](auto rows) {
      Vec total[rows.value][kColumns] = {};
      dot_tile<Vec>(total, product.x + row * product.x_stride, product.x_stride, w, product.k);
      for (std::size_t i = 0; i < rows.value; ++i) {
        float* const sum = sums + (row + i) * sum_stride;
        for (std::size_t j = 0; j < kColumns; ++j) sum[j] = reduce_add(total[i][j]);
      }
    });
  }
}

template <class Vec, class Stored>
void matmul_nk(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  constexpr std::size_t kColumns = Vec::kDotColumns;
  for (std::size_t n = n_begin; n < n_end; n += kPanel) {
    const std::size_t columns = n_end - n < kPanel ? n_end - n : kPanel;
    const Stored* const w = static_cast<const Stored*>(product.w) + n * product.k;
    std::size_t j = 0;
    for (; j + kColumns <= columns; j += kColumns) {
      dot_columns<Vec, kColumns>(product, w + j * product.k, scratch + j, kPanel);
    }
    for (; j < columns; ++j) dot_columns<Vec, 1>(product, w + j * product.k, scratch + j, kPanel);
    finish<Vec>(product, scratch, kPanel, n, columns);
  }
}

}  // namespace gpt2
