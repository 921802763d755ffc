#pragma once

#include "kernels/matmul_kn_streamed.h"

// Many rows times weights that lie as [k, n]: strips of weights as wide as a tile, in f32, are
// copied to where they stay in the cache while all rows pass by.

namespace gpt2 {

inline constexpr std::size_t kGroup = 4 * kPanel;  // columns that are packed together

/// packed[strip][0 ... depth)[columns of a tile] = w[0 ... depth, 0 ... columns), and then zeros.
template <class Vec, class Stored>
void pack_strips(float* packed, const Stored* w, std::size_t w_stride, std::size_t depth,
                 std::size_t columns) {
  constexpr std::size_t kWidth = Vec::kTileVecs * kLanes;
  for (std::size_t k = 0; k < depth; ++k, w += w_stride, packed += kWidth) {
    std::size_t n = 0;
    for (; n + kWidth <= columns; n += kWidth) {
      for (std::size_t i = 0; i < kWidth; i += kLanes) {
        Vec::load(w + n + i).store(packed + n * kChunk + i);
      }
    }
    if (n == columns) continue;
    float* const last = packed + n * kChunk;
    for (std::size_t i = 0; i < kWidth; i += kLanes) Vec::broadcast(0.0f).store(last + i);
    for_each_vec<Vec>(columns - n, [&](std::size_t i, auto lanes) {
      load<Vec>(w + n + i, lanes).store(last + i);
    });
  }
}

/// All rows and all of k for at most kGroup columns.
template <class Vec, class Stored>
void packed_columns(const Matmul& product, std::size_t n_begin, std::size_t columns,
                    float* scratch) {
  constexpr std::size_t kWidth = Vec::kTileVecs * kLanes;
  float* const packed = scratch;
  float* const sums = packed + kGroup * kChunk;  // (rows, kGroup)
  const std::size_t height = ceil_div(product.m, ceil_div(product.m, Vec::kTileRows));
  const Stored* w = static_cast<const Stored*>(product.w) + n_begin;
  for (std::size_t k = 0; k < product.k; k += kChunk, w += kChunk * product.n) {
    const std::size_t depth = product.k - k < kChunk ? product.k - k : kChunk;
    const std::size_t left = product.k - k - depth;
    const std::size_t next = left < kChunk ? left : kChunk;
    pack_strips<Vec>(packed, w, product.n, depth, columns);
    for (std::size_t row = 0; row < product.m; row += height) {
      const std::size_t end = product.m - row < height ? product.m : row + height;
      // Meanwhile the next chunk comes into the L2 cache.
      const Stored* const ahead = w + kChunk * product.n;
      for (std::size_t i = next * row / product.m; i < next * end / product.m; ++i) {
        for (std::size_t n = 0; n < columns; n += 64 / sizeof(Stored)) {
          __builtin_prefetch(ahead + i * product.n + n, 0, 2);
        }
      }
      const float* const x = product.x + row * product.x_stride + k;
      with_rows<Vec::kTileRows>(end - row, [&](auto rows) {
        for (std::size_t n = 0; n < columns; n += kWidth) {
          Tile<Vec, rows.value, Vec::kTileVecs> tile;
          tile.multiply(x, product.x_stride, packed + n * kChunk, kWidth, depth);
          tile.store(sums + row * kGroup + n, kGroup, k > 0);
        }
      });
      if (left == 0) finish<Vec>(product, row, end, sums, kGroup, n_begin, columns);
    }
  }
}

template <class Vec, class Stored>
void matmul_kn(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  const bool few = product.m <= kFewRows;
  const std::size_t most = few ? kStreamSums / product.m / kPanel * kPanel : kGroup;
  const auto multiply = few ? streamed_columns<Vec, Stored> : packed_columns<Vec, Stored>;
  for (std::size_t n = n_begin; n < n_end; n += most) {
    multiply(product, n, n_end - n < most ? n_end - n : most, scratch);
  }
}

}  // namespace gpt2
