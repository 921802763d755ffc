#pragma once

#include "kernels/matmul.h"

// Products with weights that lie as [n, k]. Each result is the dot product of a row of x with a row
// of w, summed in sixteen lanes.

namespace gpt2 {

/// The order in which w is read for a single row of x.
struct DotWalk {
  std::size_t streams;      ///< how many rows of w, which lie far apart, are read at once
  std::size_t step_bytes;   ///< how many bytes of one stream are read before those of the next one;
                            ///< 0: one vector, without code for several
  std::size_t ahead;        ///< how many bytes ahead a stream is prefetched; 0: never
  bool has_panels = false;  ///< whether a few rows of x, too, read w panel by panel
};

/// The walk for several rows of x.
template <class Vec>
inline constexpr DotWalk kDotTiles{.streams = Vec::kDotColumns, .step_bytes = 512, .ahead = 0};

/// A tile of a panel: so many rows of x and rows of w. With AVX-512, 16 sums, 4 vectors of w and 1
/// of x are in registers, and 4 rows of x and twice 4 of w fit in an L1 cache of 48 KiB if k is
/// 768.
template <class Vec>
inline constexpr std::size_t kDotPanelRows = Vec::kRegisters == 1 ? 4 : Vec::kDotRows;
template <class Vec>
inline constexpr std::size_t kDotPanelColumns = Vec::kRegisters == 1 ? 4 : Vec::kDotColumns;

// Products of up to this many rows can read w as long streams. On Zen 4, panels are faster for 2
// rows and more, by up to a half, and on Emerald Rapids for 24 and more, by a fifth (with AVX2 by a
// twentieth).
inline constexpr std::size_t kDotFewRows = 16;

// The number of columns that are computed at a time if x has few rows. They are divided among the
// streams: with 8 streams, each stream is 16 consecutive rows of w.
inline constexpr std::size_t kDotWidth = 4 * kPanel;

/// sum[i][j] += x[i, 0 ... depth) w[j, 0 ... depth), lane by lane. Calls fetch(k) before each
/// vector of k. kWalk is used only if kRows is 1.
template <class Vec, DotWalk kWalk, std::size_t kRows, std::size_t kColumns, class Stored,
          class Fetch>
[[gnu::always_inline]] inline void dot_chunk(Vec (&sum)[kRows][kColumns], const float* x,
                                             std::size_t x_stride, const Stored* w,
                                             std::size_t w_stride, std::size_t depth,
                                             const Fetch& fetch) {
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
            __builtin_prefetch(row + k + kWalk.ahead / sizeof(Stored), 0, 3);
          }
          sum[0][j] = fma(Vec::load(x + begin + k), Vec::load(row + k), sum[0][j]);
        }
      }
    }
  }
  for_each_vec<Vec>(depth - begin, [&](std::size_t at, auto lanes) {
    const std::size_t k = begin + at;
    fetch(k);
    Vec column[kColumns];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) column[j] = load<Vec>(w + j * w_stride + k, lanes);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kRows; ++i) {
      const Vec factor = load<Vec>(x + i * x_stride + k, lanes);
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kColumns; ++j) sum[i][j] = fma(factor, column[j], sum[i][j]);
    }
  });
}

/// sums[(row + i) * stride + j * step] = x[row + i] w[j * step] for kRows rows of x and kColumns
/// rows of w. Meanwhile it prefetches what lies at `next` for the first of these rows: into the L1
/// cache, as it reads w; or, for a panel, into the L2 cache, one cache line with every `every`-th
/// vector of k.
template <class Vec, DotWalk kWalk, std::size_t kRows, std::size_t kColumns, class Stored>
void dot_tile(const Matmul& product, std::size_t row, const Stored* w, float* sums,
              std::size_t stride, std::size_t step, const Stored* next, std::size_t every) {
  const float* const x = product.x + row * product.x_stride;
  const std::size_t w_stride = step * product.k;
  const auto fetch_rows = [&](std::size_t k, auto into) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kColumns; ++j) {
      __builtin_prefetch(next + j * w_stride + k, 0, into.value);
    }
  };
  std::size_t left = 0;
  const auto fetch = [&](std::size_t k) {
    if constexpr (!kWalk.has_panels) {
      fetch_rows(k, Count<3>{});
    } else if constexpr (Vec::kPrefetches) {
      if (left-- > 0) return;
      fetch_rows(0, Count<2>{});
      next += 64 / sizeof(Stored);
      left = every;
    }
  };
  Vec total[kRows][kColumns];
  std::size_t k = 0;
  do {
    Vec sum[kRows][kColumns] = {};
    dot_chunk<Vec, kWalk>(sum, x + k, product.x_stride, w + k, w_stride, min(kChunk, product.k - k),
                          [&](std::size_t at) { fetch(k + at); });
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
      const Stored* const from = w + n * product.k;
      dot_tile<Vec, kWalk, rows.value, streams.value>(product, row, from, sums + n, kDotWidth, step,
                                                      from + ahead, 0);
    });
  };
  for (std::size_t n = 0; n < length; ++n) multiply(Count<kStreams>{}, n, length);
  for (std::size_t n = length * kStreams; n < columns; ++n) multiply(Count<1>{}, n, 1);
}

/// Computes the sums (m, kPanel) of all rows and up to kPanel columns, panel by panel. A tile of
/// rows of x stays in the L1 cache while it is multiplied with the panel of w, which is in the L2
/// cache. Meanwhile each tile prefetches a part of the next panel. Few cache misses fit into a core
/// at once: if the first tile prefetched all of it, it would wait for memory, and memory would rest
/// during the others.
template <class Vec, class Stored>
void dot_panel(const Matmul& product, const Stored* w, std::size_t columns, float* sums) {
  constexpr DotWalk kByPanels{.streams = 0, .step_bytes = 0, .ahead = 0, .has_panels = true};
  constexpr std::size_t kColumns = kDotPanelColumns<Vec>;
  constexpr std::size_t kLine = 64 / sizeof(Stored);
  const std::size_t tiles = ceil_div(product.m, kDotPanelRows<Vec>);
  const std::size_t part = ceil_div(product.k, kLine * tiles) * kLine;
  const Stored* next = w + kPanel * product.k;
  for_tiles<kDotPanelRows<Vec>>(product.m, [&](std::size_t row, auto rows) {
    const auto multiply = [&](auto width, std::size_t n) {
      dot_tile<Vec, kByPanels, rows.value, width.value>(product, row, w + n * product.k, sums + n,
                                                        kPanel, 1, next + n * product.k,
                                                        tiles * kLine / kLanes - 1);
    };
    std::size_t n = 0;
    for (; n + kColumns <= columns; n += kColumns) multiply(Count<kColumns>{}, n);
    for (; n < columns; ++n) multiply(Count<1>{}, n);
    next += part;
  });
}

/// kWalk is the walk of a single row.
template <class Vec, DotWalk kWalk, class Stored>
void matmul_nk(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  const bool few = product.m == 1 || (product.m <= kDotFewRows && !kWalk.has_panels);
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
