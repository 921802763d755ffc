#pragma once

#include "kernels/matmul.h"

// Products with weights that lie as [n, k]. Each result is the dot product of a row of x with a row
// of w, summed in sixteen lanes.

namespace gpt2 {

/// The order in which w is read for a single row of x.
struct DotWalk {
  std::size_t streams;     ///< how many rows of w, which lie far apart, are read at once
  std::size_t step_bytes;  ///< how many bytes of one stream are read before those of the next one;
                           ///< 0: one vector, without code for several
  std::size_t ahead;       ///< how many bytes ahead a stream is prefetched; 0: never
};

/// The walk for several rows of x.
template <class Vec>
inline constexpr DotWalk kDotTiles{.streams = Vec::kDotColumns, .step_bytes = 512, .ahead = 0};

// Products of up to this many rows read w as long streams. For 24 to 64 rows, reading one panel of
// adjacent rows after another was 2 to 10 % faster.
inline constexpr std::size_t kDotFewRows = 16;

// The number of columns that are computed at a time if x has few rows. They are divided among the
// streams: with 8 streams, each stream is 16 consecutive rows of w.
inline constexpr std::size_t kDotWidth = 4 * kPanel;

/// sum[i][j] += x[i, 0 ... depth) w[j, 0 ... depth), lane by lane. Meanwhile it prefetches the
/// weights that lie `ahead` elements further on. kWalk is used only if kRows is 1.
template <class Vec, DotWalk kWalk, std::size_t kRows, std::size_t kColumns, class Stored>
[[gnu::always_inline]] inline void dot_chunk(Vec (&sum)[kRows][kColumns], const float* x,
                                             std::size_t x_stride, const Stored* w,
                                             std::size_t w_stride, std::size_t depth,
                                             std::size_t ahead) {
  std::size_t begin = 0;
  if constexpr (kRows == 1 && kWalk.step_bytes > 0) {
    constexpr std::size_t kStep = kWalk.step_bytes / sizeof(Stored);
    for (; begin + kStep <= depth; begin += kStep) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) {
        const Stored* const row = w + j * w_stride + begin;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kStep; k += kLanes) {
          if (kWalk.ahead > 0 && k * sizeof(Stored) % 64 == 0) {
            __builtin_prefetch(row + k + ahead, 0, 3);
          }
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
      __builtin_prefetch(w + j * w_stride + k + ahead, 0, 3);
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

/// sums[(row + i) * stride + j * step] = x[row + i] w[j * step] for kRows rows of x and kColumns
/// rows of w.
template <class Vec, DotWalk kWalk, std::size_t kRows, std::size_t kColumns, class Stored>
void dot_tile(const Matmul& product, std::size_t row, const Stored* w, float* sums,
              std::size_t stride, std::size_t step, std::size_t ahead) {
  const float* const x = product.x + row * product.x_stride;
  Vec total[kRows][kColumns];
  std::size_t k = 0;
  do {
    Vec sum[kRows][kColumns] = {};
    dot_chunk<Vec, kWalk>(sum, x + k, product.x_stride, w + k, step * product.k,
                          min(kChunk, product.k - k), ahead);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) {
        total[i][j] = k == 0 ? sum[i][j] : total[i][j] + sum[i][j];
      }
    }
    k += kChunk;
  } while (k < product.k);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kRows; ++i) {
    float results[kColumns];
    reduce_add(results, total[i]);
    for (std::size_t j = 0; j < kColumns; ++j) sums[(row + i) * stride + j * step] = results[j];
  }
}

/// Calls f(row, Count<rows>{}) for tiles of at most kMaxRows rows and of about equal height, which
/// together cover the m rows.
template <std::size_t kMaxRows, class F>
[[gnu::always_inline]] inline void for_tiles(std::size_t m, const F& f) {
  const std::size_t height = ceil_div(m, ceil_div(m, kMaxRows));
  for (std::size_t row = 0; row < m; row += height) {
    with_count<kMaxRows>(min(height, m - row), [&](auto rows) { f(row, rows); });
  }
}

/// Computes the sums (m, kDotWidth) of all rows and `columns` columns if x has few rows. The rows
/// of x stay in the cache, while kWalk.streams rows of w that lie far apart are read at once. Each
/// of these is part of one long stream from memory. For a few rows of x, this was a fifth faster
/// than reading adjacent rows of w.
template <class Vec, DotWalk kWalk, std::size_t kMaxRows, class Stored>
void dot_streams(const Matmul& product, const Stored* w, std::size_t columns, float* sums) {
  // How many elements to prefetch ahead. With 8 rows of x, 3072 bytes were 5 % faster than 1024
  // where k is 768, and distances of more than one row of w evicted the rows of x from the L1 cache
  // where k is 1600.
  const std::size_t ahead =
      product.m == 1 ? kWalk.ahead / sizeof(Stored) : min(product.k, 3072 / sizeof(Stored));
  constexpr std::size_t kStreams = kWalk.streams;
  const std::size_t length = columns / kStreams;
  const auto multiply = [&](auto streams, std::size_t n, std::size_t step) {
    for_tiles<kMaxRows>(product.m, [&](std::size_t row, auto rows) {
      dot_tile<Vec, kWalk, rows.value, streams.value>(product, row, w + n * product.k, sums + n,
                                                      kDotWidth, step, ahead);
    });
  };
  for (std::size_t n = 0; n < length; ++n) multiply(Count<kStreams>{}, n, length);
  for (std::size_t n = length * kStreams; n < columns; ++n) multiply(Count<1>{}, n, 1);
}

/// Computes the sums (m, kPanel) of all rows and up to kPanel columns if x has many rows. A tile of
/// rows of x stays in the L1 cache while it is multiplied with the panel of w, which stays in the
/// L2 cache. Meanwhile this prefetches the rows of w for the next tile.
template <class Vec, class Stored>
void dot_panel(const Matmul& product, const Stored* w, std::size_t columns, float* sums) {
  constexpr std::size_t kColumns = Vec::kDotColumns;
  for_tiles<Vec::kDotRows>(product.m, [&](std::size_t row, auto rows) {
    std::size_t n = 0;
    for (; n + kColumns <= columns; n += kColumns) {
      dot_tile<Vec, kDotTiles<Vec>, rows.value, kColumns>(product, row, w + n * product.k, sums + n,
                                                          kPanel, 1, kColumns * product.k);
    }
    for (; n < columns; ++n) {
      dot_tile<Vec, kDotTiles<Vec>, rows.value, 1>(product, row, w + n * product.k, sums + n,
                                                   kPanel, 1, product.k);
    }
  });
}

/// kWalk is the walk of a single row.
template <class Vec, DotWalk kWalk, class Stored>
void matmul_nk(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  const bool few = product.m <= kDotFewRows;
  const std::size_t width = few ? kDotWidth : kPanel;
  for (std::size_t n = n_begin; n < n_end; n += width) {
    const std::size_t columns = min(width, n_end - n);
    const Stored* const w = static_cast<const Stored*>(product.w) + n * product.k;
    if (product.m == 1) {
      dot_streams<Vec, kWalk, 1>(product, w, columns, scratch);
    } else if (few) {
      dot_streams<Vec, kDotTiles<Vec>, Vec::kDotRows>(product, w, columns, scratch);
    } else {
      dot_panel<Vec>(product, w, columns, scratch);
    }
    finish<Vec>(product, 0, product.m, scratch, width, n, columns);
  }
}

}  // namespace gpt2
