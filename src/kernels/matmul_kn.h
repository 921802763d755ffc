#pragma once

#include "kernels/matmul.h"

// Weights that lie as [k, n]. A few rows stream the weights where they are; many rows first copy
// panels of them, widened to f32, to where they stay in the cache.

namespace gpt2 {

inline constexpr std::size_t kStreamedRows = 8;
inline constexpr std::size_t kGroup = 4 * kPanel;  // columns that one pass over x serves

/// sums[row, 0 ... columns) += x[row, k ... k + kDepth) w[k ... k + kDepth, 0 ... columns), for
/// kDepth rows of weights at a time: each is read once, in order, for all rows of x.
template <class Vec, std::size_t kDepth, class Stored>
[[gnu::always_inline]] inline void stream_rows(float* sums, std::size_t sum_stride, const float* x,
                                               const Matmul& product, const Stored* w,
                                               std::size_t columns) {
  for_each_vec<Vec>(columns, [&](std::size_t column, auto lanes) {
    Vec weight[kDepth];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kDepth; ++k)
      weight[k] = load<Vec>(w + k * product.n + column, lanes);
    for (std::size_t row = 0; row < product.m; ++row) {
      float* const at = sums + row * sum_stride + column;
      Vec sum = Vec::load(at);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kDepth; ++k) {
        sum = fma(Vec::broadcast(x[row * product.x_stride + k]), weight[k], sum);
      }
      sum.store(at);
    }
  });
}

/// `chunk` and `total` (m, columns rounded up to kLanes).
template <class Vec, class Stored>
void streamed_matmul_kn(const Matmul& product, std::size_t n_begin, std::size_t columns,
                        float* chunk, float* total) {
  constexpr std::size_t kDepth = 8;
  const std::size_t stride = (columns + kLanes - 1) / kLanes * kLanes;
  const std::size_t size = product.m * stride;
  const Vec zero = Vec::broadcast(0.0f);
  for (std::size_t i = 0; i < size; i += kLanes) zero.store(total + i);
  for (std::size_t begin = 0; begin < product.k; begin += kChunk) {
    const std::size_t end = product.k - begin < kChunk ? product.k : begin + kChunk;
    for (std::size_t i = 0; i < size; i += kLanes) zero.store(chunk + i);
    const Stored* w = static_cast<const Stored*>(product.w) + begin * product.n + n_begin;
    std::size_t k = begin;
    for (; k + kDepth <= end; k += kDepth, w += kDepth * product.n) {
      stream_rows<Vec, kDepth>(chunk, stride, product.x + k, product, w, columns);
    }
    for (; k < end; ++k, w += product.n) {
      stream_rows<Vec, 1>(chunk, stride, product.x + k, product, w, columns);
    }
    for (std::size_t i = 0; i < size; i += kLanes) {
      const Vec sum = Vec::load(chunk + i);
      (begin == 0 ? sum : Vec::load(total + i) + sum).store(total + i);
    }
  }
  finish<Vec>(product, total, stride, n_begin, columns);
}

/// panel[0 ... depth)[kPanel] = w[0 ... depth, 0 ... columns), filled up with zeros.
template <class Vec, class Stored>
void pack_panel(float* panel, const Stored* w, std::size_t w_stride, std::size_t depth,
                std::size_t columns) {
  for (std::size_t k = 0; k < depth; ++k, w += w_stride, panel += kPanel) {
    if (columns >= kPanel) {
      Vec::load(w).store(panel);
      Vec::load(w + kLanes).store(panel + kLanes);
    } else {
      for (std::size_t i = 0; i < kPanel; i += kLanes) Vec::broadcast(0.0f).store(panel + i);
      for_each_vec<Vec>(
          columns, [&](std::size_t i, auto lanes) { load<Vec>(w + i, lanes).store(panel + i); });
    }
  }
}

/// At most kGroup columns. sums (m, kGroup) takes the chunk sums of `panels` packed panels.
template <class Vec>
void multiply_panels(const Matmul& product, std::size_t k, std::size_t depth, const float* packed,
                     std::size_t panels, float* sums) {
  constexpr std::size_t kRows = Vec::kTileRows;
  for (std::size_t row = 0; row < product.m; row += kRows) {
    const float* const x = product.x + row * product.x_stride + k;
    with_rows<Vec::kTileRows>(product.m - row, [&](auto rows) {
      for (std::size_t column = 0; column < panels * kPanel; column += Vec::kTileVecs * kLanes) {
        Tile<Vec, rows.value, Vec::kTileVecs> tile;
        const std::size_t panel = column / kPanel * kPanel;
        tile.multiply(x, product.x_stride, packed + panel * kChunk + column - panel, kPanel, depth);
        tile.store(sums + row * kGroup + column, kGroup, k > 0);
      }
    });
  }
}

template <class Vec, class Stored>
void packed_matmul_kn(const Matmul& product, std::size_t n_begin, std::size_t columns,
                      float* packed, float* sums) {
  const std::size_t panels = (columns + kPanel - 1) / kPanel;
  for (std::size_t k = 0; k < product.k; k += kChunk) {
    const std::size_t depth = product.k - k < kChunk ? product.k - k : kChunk;
    const Stored* const w = static_cast<const Stored*>(product.w) + k * product.n + n_begin;
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const std::size_t column = panel * kPanel;
      pack_panel<Vec>(packed + column * kChunk, w + column, product.n, depth, columns - column);
    }
    multiply_panels<Vec>(product, k, depth, packed, panels, sums);
  }
  if (product.k == 0) {
    for (std::size_t i = 0; i < product.m * kGroup; ++i) sums[i] = 0.0f;
  }
  finish<Vec>(product, sums, kGroup, n_begin, columns);
}

template <class Vec, class Stored>
void matmul_kn(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  if (product.m <= kStreamedRows) {
    // Sums of all rows stay in half of the L1 cache.
    const std::size_t most = 4096 / product.m / kPanel * kPanel;
    for (std::size_t n = n_begin; n < n_end; n += most) {
      const std::size_t columns = n_end - n < most ? n_end - n : most;
      streamed_matmul_kn<Vec, Stored>(product, n, columns, scratch, scratch + 4096);
    }
  } else {
    for (std::size_t n = n_begin; n < n_end; n += kGroup) {
      const std::size_t columns = n_end - n < kGroup ? n_end - n : kGroup;
      packed_matmul_kn<Vec, Stored>(product, n, columns, scratch, scratch + kGroup * kChunk);
    }
  }
}

}  // namespace gpt2
