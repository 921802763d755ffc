#pragma once

#include "kernels/matmul.h"

// Weights that lie as [n, k]: dot products of rows with rows, sixteen lane chains each.

namespace gpt2 {

/// sum[i][j] = x[i, 0 ... depth) w[j, 0 ... depth): from zero, lane by lane. What lies `ahead`
/// elements further on is fetched meanwhile. For a single row, each row of w brings a few cache
/// lines at a time: so many streams from memory are the fastest.
template <class Vec, std::size_t kRows, std::size_t kColumns, class Stored>
[[gnu::always_inline]] inline void dot_chunk(Vec (&sum)[kRows][kColumns], const float* x,
                                             std::size_t x_stride, const Stored* w,
                                             std::size_t w_stride, std::size_t depth,
                                             std::size_t ahead) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) sum[i][j] = Vec::broadcast(0.0f);
  }
  std::size_t begin = 0;
  if constexpr (kRows == 1) {
    constexpr std::size_t kStep = 256 / sizeof(Stored);
    for (; begin + kStep <= depth; begin += kStep) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) {
        const Stored* const row = w + j * w_stride + begin;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kStep; k += kLanes) {
          if (k * sizeof(Stored) % 64 == 0) __builtin_prefetch(row + k + ahead, 0, 3);
          sum[0][j] = fma(Vec::load(x + begin + k), Vec::load(row + k), sum[0][j]);
        }
      }
    }
  }
  x += begin;
  w += begin;
  for_each_vec<Vec>(depth - begin, [&](std::size_t k, auto lanes) {
    Vec column[kColumns];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) {
      __builtin_prefetch(w + j * w_stride + k + ahead, 0, 2);
      column[j] = load<Vec>(w + j * w_stride + k, lanes);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
      const Vec factor = load<Vec>(x + i * x_stride + k, lanes);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) sum[i][j] = fma(factor, column[j], sum[i][j]);
    }
  });
}

/// sums[i][j * step] = x[i] w[j * step] for a tile of kRows rows of x and kColumns rows of w.
template <class Vec, std::size_t kRows, std::size_t kColumns, class Stored>
void dot_tile(const Matmul& product, std::size_t row, const Stored* w, float* sums,
              std::size_t step, std::size_t ahead) {
  const float* const x = product.x + row * product.x_stride;
  Vec total[kRows][kColumns] = {};
  for (std::size_t k = 0; k < product.k; k += kChunk) {
    Vec sum[kRows][kColumns];
    dot_chunk<Vec>(sum, x + k, product.x_stride, w + k, step * product.k,
                   product.k - k < kChunk ? product.k - k : kChunk, ahead);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) {
        total[i][j] = k == 0 ? sum[i][j] : total[i][j] + sum[i][j];
      }
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      sums[(row + i) * kPanel + j * step] = reduce_add(total[i][j]);
    }
  }
}

/// All rows and `columns` columns, sums (m, kPanel).
template <class Vec, class Stored>
void dot_columns(const Matmul& product, const Stored* w, std::size_t columns, float* sums) {
  constexpr std::size_t kMost = Vec::kDotRows;
  const std::size_t tiles = ceil_div(product.m, kMost);
  const std::size_t height = ceil_div(product.m, tiles);
  for (std::size_t row = 0; row < product.m; row += height) {
    with_rows<kMost>(product.m - row < height ? product.m - row : height, [&](auto rows) {
      constexpr std::size_t kColumns = Vec::kDotColumns;
      std::size_t n = 0;
      for (; n + kColumns <= columns; n += kColumns) {
        dot_tile<Vec, rows.value, kColumns>(product, row, w + n * product.k, sums + n, 1,
                                            kColumns * product.k);
      }
      for (; n < columns; ++n) {
        dot_tile<Vec, rows.value, 1>(product, row, w + n * product.k, sums + n, 1, product.k);
      }
    });
  }
}

/// The same for a single row: rows of w that lie far apart, for long streams from memory.
template <class Vec, class Stored>
void dot_row(const Matmul& product, const Stored* w, std::size_t columns, float* sums) {
  constexpr std::size_t kStreams = 2 * Vec::kDotColumns;
  constexpr std::size_t kAhead = 1024 / sizeof(Stored);
  const std::size_t length = columns / kStreams;
  for (std::size_t n = 0; n < length; ++n) {
    dot_tile<Vec, 1, kStreams>(product, 0, w + n * product.k, sums + n, length, kAhead);
  }
  for (std::size_t n = length * kStreams; n < columns; ++n) {
    dot_tile<Vec, 1, 1>(product, 0, w + n * product.k, sums + n, 1, kAhead);
  }
}

template <class Vec, class Stored>
void matmul_nk(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  if (product.m == 1) {
    constexpr std::size_t kMost = 4 * kPanel;
    for (std::size_t n = n_begin; n < n_end; n += kMost) {
      const std::size_t columns = n_end - n < kMost ? n_end - n : kMost;
      dot_row<Vec>(product, static_cast<const Stored*>(product.w) + n * product.k, columns,
                   scratch);
      finish<Vec>(product, {0, 1}, scratch, kMost, n, columns);
    }
    return;
  }
  // Few rows of x stay in the L1 cache, and pass by every few rows of w. Of many rows, a tile stays
  // there while a panel of w, in the L2 cache, passes by.
  const std::size_t group = product.m <= 24 ? 2 * Vec::kDotColumns : kPanel;
  for (std::size_t n = n_begin; n < n_end; n += kPanel) {
    const std::size_t columns = n_end - n < kPanel ? n_end - n : kPanel;
    const Stored* const w = static_cast<const Stored*>(product.w) + n * product.k;
    for (std::size_t j = 0; j < columns; j += group) {
      dot_columns<Vec>(product, w + j * product.k, columns - j < group ? columns - j : group,
                       scratch + j);
    }
    finish<Vec>(product, {0, product.m}, scratch, kPanel, n, columns);
  }
}

}  // namespace gpt2
