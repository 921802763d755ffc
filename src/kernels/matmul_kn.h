#pragma once

#include "kernels/matmul_kn_streamed.h"

// Many rows times weights that lie as [k, n]. The weights are widened to f32 and packed: copied to
// the scratch, in strips that are as wide as a tile. There they stay in the cache while all rows of
// x are multiplied with them. For bf16, packing the 16 bits and widening them in the tiles was 2 %
// slower for prompts of 512 tokens (Zen 5, one thread and two).

namespace gpt2 {

// The number of columns that are packed together: two strips with AVX-512, or eight with a narrower
// tile. One row of them takes 512 bytes as f32.
inline constexpr std::size_t kGroup = 4 * kPanel;

// The number of rows of weights that are packed together. Going from one chunk to three, together
// with packing in a separate step and large pages for the activations, gained 5 % for prompts of
// 512 with f32 and 3 % with bf16. The packed weights of kGroup columns take 384 KiB, and the sums
// of kMaxRows rows take 256 KiB; together they fit in an L2 cache of 1 MiB. 768 is also n_embd of
// the smallest GPT-2, so that most of its products pack all of k at once.
inline constexpr std::size_t kPackDepth = 3 * kChunk;

/// packed[strip][0 ... depth)[columns of a tile] = w[0 ... depth, 0 ... columns). The strips are
/// kPackDepth rows apart. Vectors of the last strip that lie entirely past the matrix are not
/// written, because the sums that are computed from them are never read.
template <class Vec, class Stored>
void pack_strips(float* packed, const Stored* w, std::size_t w_stride, std::size_t depth,
                 std::size_t columns) {
  constexpr std::size_t kWidth = Vec::kTileVecs * kLanes;
  constexpr std::size_t kAhead = 8;  // rows: 4 KiB of f32
  for (std::size_t k = 0; k < depth; ++k, w += w_stride, packed += kWidth) {
    for (std::size_t n = 0; n < columns; n += 64 / sizeof(Stored)) {
      __builtin_prefetch(w + kAhead * w_stride + n, 0, 2);
    }
    std::size_t n = 0;
    for (; n + kWidth <= columns; n += kWidth) {
      for (std::size_t i = 0; i < kWidth; i += kLanes) {
        Vec::load(w + n + i).store(packed + n * kPackDepth + i);
      }
    }
    for_each_vec<Vec>(columns - n, [&](std::size_t i, auto lanes) {
      load<Vec>(w + n + i, lanes).store(packed + n * kPackDepth + i);
    });
  }
}

/// Multiplies rows [k, k + depth) of the weights, which are packed in the scratch, and finishes the
/// results if these rows are the last. It is the same for all formats of weights.
template <class Vec>
void multiply_packed(const Matmul& product, std::size_t k, std::size_t depth, std::size_t n_begin,
                     std::size_t columns, float* scratch) {
  constexpr std::size_t kWidth = Vec::kTileVecs * kLanes;
  float* const sums = scratch + kGroup * kPackDepth;  // (rows, kGroup)
  const std::size_t height = ceil_div(product.m, ceil_div(product.m, Vec::kTileRows));
  for (std::size_t row = 0; row < product.m; row += height) {
    const std::size_t end = min(product.m, row + height);
    const float* const x = product.x + row * product.x_stride + k;
    with_count<Vec::kTileRows>(end - row, [&](auto rows) {
      for (std::size_t n = 0; n < columns; n += kWidth) {
        const float* const packed = scratch + n * kPackDepth;
        for (std::size_t i = 0; i < depth; i += kChunk) {
          Tile<Vec, rows.value, Vec::kTileVecs> tile;
          tile.multiply(x + i, product.x_stride, packed + i * kWidth, kWidth,
                        min(kChunk, depth - i));
          tile.store(sums + row * kGroup + n, kGroup, k + i > 0);
        }
      }
    });
    if (k + depth == product.k) finish<Vec>(product, row, end, sums, kGroup, n_begin, columns);
  }
}

/// Computes all rows and all of k for at most kGroup columns. Packing is a separate step, because
/// packing or prefetching the next weights between the tiles slows the tiles down by as much as it
/// saves.
template <class Vec, class Stored>
void packed_columns(const Matmul& product, std::size_t n_begin, std::size_t columns,
                    float* scratch) {
  static_assert(kGroup * (kPackDepth + kMaxRows) * sizeof(float) <= kMatmulScratchBytes);
  const Stored* w = static_cast<const Stored*>(product.w) + n_begin;
  for (std::size_t k = 0; k < product.k; k += kPackDepth, w += kPackDepth * product.n) {
    const std::size_t depth = min(kPackDepth, product.k - k);
    pack_strips<Vec>(scratch, w, product.n, depth, columns);
    multiply_packed<Vec>(product, k, depth, n_begin, columns, scratch);
  }
}

/// Reads the weights in place for up to `kInPlace` rows, and packs them for more.
template <class Vec, class Stored, std::size_t kInPlace>
void matmul_kn(const Matmul& product, std::size_t n_begin, std::size_t n_end,
               float* scratch) noexcept {
  if (product.m == 0) return;
  const bool few = product.m <= kInPlace;
  const std::size_t most = few ? kStreamSums / product.m / kPanel * kPanel : kGroup;
  const auto multiply = few ? streamed_columns<Vec, Stored> : packed_columns<Vec, Stored>;
  for (std::size_t n = n_begin; n < n_end; n += most) {
    multiply(product, n, min(most, n_end - n), scratch);
  }
}

}  // namespace gpt2
