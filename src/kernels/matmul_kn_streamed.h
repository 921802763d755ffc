#pragma once

#include "kernels/matmul.h"

// Few rows times weights that lie as [k, n]. The weights are read in place, a few rows at a time
// and along these rows, which suits the hardware's prefetchers. The sums stay in the cache, and lie
// in the order in which they are used. If they were a matrix whose rows are a power of two apart,
// the sums of one column would compete for the same cache sets.

namespace gpt2 {

// The number of floats for the sums of one chunk. The totals of all chunks have the same number. A
// larger number allows longer runs of columns: with kFewRows rows, a run has 512 columns. The sums
// and the totals take 256 KiB each, and kFewRows rows of x take 136 KiB; together they fit in an L2
// cache of 1 MiB.
inline constexpr std::size_t kStreamSums = std::size_t{1} << 16;

// The number of floats from one row of x to the next. It is not a power of two, so that the values
// of one column are spread over all sets of the L1 cache.
inline constexpr std::size_t kXStride = kChunk + kLanes;

/// The number of columns of a strip.
template <class Vec>
inline constexpr std::size_t kStrip = (kLanes * Vec::kStreamVecs);

/// Rows of x in one chunk of k, and their sums.
struct StreamBlock {
  float* x;     ///< (rows, kChunk), kXStride apart
  float* sums;  ///< (strips, rows, columns of a strip): a strip has kStrip columns
  std::size_t rows, columns;
  std::size_t lines = 0;  ///< how many cache lines of weights to prefetch before each row of x
};

/// Returns where the sum of row 0 and this column is in a StreamBlock. Those of the rows after it
/// follow, kStrip apart.
template <class Vec>
[[gnu::always_inline]] inline std::size_t strip_at(std::size_t column, std::size_t rows) {
  return column / kStrip<Vec> * kStrip<Vec> * rows + column % kStrip<Vec>;
}

/// sums[row, columns] += x[row, k ... k + kDepth) w[0 ... kDepth, columns] for kVecs vectors of
/// columns and all rows. At k = 0 the sums begin at zero. The weights are read once.
///
/// Meanwhile it prefetches the next kDepth rows of weights into the L2 cache. If kIntoL1, it
/// prefetches from there into the L1 cache the weights that follow four steps later, a few cache
/// lines before each row of x: all of them at once kept one another and the weights of this step
/// waiting.
///
/// The block is a copy, because the compiler would have to reload its members after each store to
/// the sums.
template <class Vec, std::size_t kDepth, bool kIntoL1, std::size_t kVecs, class Stored, class Lanes>
[[gnu::always_inline]] inline void stream_columns(StreamBlock block, std::size_t k, const Stored* w,
                                                  std::size_t w_stride, std::size_t column,
                                                  Lanes lanes) {
  constexpr std::size_t kWidth = kVecs * kLanes;
  constexpr std::size_t kLine = 64 / sizeof(Stored);
  constexpr std::size_t kLinesOfRow = ceil_div(kWidth, kLine);
  Vec weight[kDepth][kVecs];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kDepth; ++i) {
    const Stored* const row = w + i * w_stride + column;
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kWidth; j += kLine) {
      __builtin_prefetch(row + kDepth * w_stride + j, 0, 2);
    }
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kVecs; ++j) weight[i][j] = load<Vec>(row + j * kLanes, lanes);
  }
  const float* x = block.x + k;
  float* sums = block.sums + strip_at<Vec>(column, block.rows);
  for (std::size_t r = 0; r < block.rows; ++r, x += kXStride, sums += kStrip<Vec>) {
    if constexpr (kIntoL1) {
      for (std::size_t line = r * block.lines; line < (r + 1) * block.lines; ++line) {
        const Stored* const row = w + line / kLinesOfRow * w_stride + column;
        __builtin_prefetch(row + 4 * kWidth + line % kLinesOfRow * kLine, 0, 3);
      }
    }
    Vec sum[kVecs];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kVecs; ++j) {
      sum[j] = k == 0 ? 0.0f : Vec::load(sums + j * kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kDepth; ++i) {
      const Vec factor = x[i];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) sum[j] = fma(factor, weight[i][j], sum[j]);
    }
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kVecs; ++j) sum[j].store(sums + j * kLanes);
  }
}

template <class Vec, std::size_t kDepth, bool kIntoL1, class Stored>
[[gnu::flatten]] void stream_rows(StreamBlock block, std::size_t k, const Stored* w,
                                  std::size_t w_stride) {
  for_each_vecs<Vec, Vec::kStreamVecs>(block.columns, [&](auto vecs, std::size_t n, auto lanes) {
    stream_columns<Vec, kDepth, kIntoL1, vecs.value>(block, k, w, w_stride, n, lanes);
  });
}

/// Copies the rows of x of the chunk that begins at `k_begin`, and computes its sums for the
/// block's columns, the first of which is column n_begin of the product.
template <class Vec, class Stored>
void stream_chunk(const Matmul& product, StreamBlock block, std::size_t k_begin,
                  std::size_t n_begin) {
  constexpr std::size_t kDepth = Vec::kStreamDepth;
  constexpr std::size_t kLinesOfRow = ceil_div(kStrip<Vec> * sizeof(Stored), 64);
  block.lines = kDepth * kLinesOfRow / block.rows;
  // With more rows, each of which would prefetch less than two lines, a step takes long enough for
  // the hardware's prefetchers.
  const auto stream = block.lines >= 2 ? stream_rows<Vec, kDepth, Vec::kPrefetches, Stored>
                                       : stream_rows<Vec, kDepth, false, Stored>;
  const std::size_t depth = min(kChunk, product.k - k_begin);
  for (std::size_t row = 0; row < block.rows; ++row) {
    __builtin_memcpy(block.x + row * kXStride, product.x + row * product.x_stride + k_begin,
                     depth * sizeof(float));
  }
  const Stored* w = static_cast<const Stored*>(product.w) + k_begin * product.n + n_begin;
  std::size_t k = 0;
  for (; k + kDepth <= depth; k += kDepth, w += kDepth * product.n) stream(block, k, w, product.n);
  for (; k < depth; ++k, w += product.n) stream_rows<Vec, 1, false>(block, k, w, product.n);
}

/// Computes the chunk sums [begin, end) of at most kChunkRows rows. The sums of each chunk lie as
/// in a StreamBlock.
template <class Vec, class Stored>
void stream_chunks(const Matmul& product, std::size_t begin, std::size_t end, float* sums) {
  static_assert(kPanel % kStrip<Vec> == 0);  // so that a share begins with a strip
  if (product.m == 0) return;
  const std::size_t stride = chunk_stride(product.n);
  float x[kChunkRows * kXStride];
  while (begin < end) {
    const std::size_t column = begin % stride;
    const std::size_t width = min(stride - column, end - begin);
    const StreamBlock block{x, sums + begin * product.m, product.m, min(width, product.n - column)};
    stream_chunk<Vec, Stored>(product, block, begin / stride * kChunk, column);
    begin += width;
  }
}

/// Turns sums that lie as in a StreamBlock, the first of which is column n_begin of the product,
/// into results. A single row has them one after another, so that one call finishes all of them.
template <class Vec>
void finish_strips(const Matmul& product, float* sums, std::size_t n_begin, std::size_t columns) {
  const std::size_t width = product.m == 1 ? columns : kStrip<Vec>;
  for (std::size_t n = 0; n < columns; n += width) {
    finish<Vec>(product, 0, product.m, sums + n * product.m, width, n_begin + n,
                min(width, columns - n));
  }
}

/// Computes all rows and all of k for `columns` columns, at most kStreamSums / product.m of them.
template <class Vec, class Stored>
void streamed_columns(const Matmul& product, std::size_t n_begin, std::size_t columns,
                      float* scratch) {
  static_assert((2 * kStreamSums + kFewRows * kXStride) * sizeof(float) <= kMatmulScratchBytes);
  float* const totals = scratch;
  const StreamBlock block{totals + 2 * kStreamSums, totals + kStreamSums, product.m, columns};
  for (std::size_t begin = 0; begin < product.k; begin += kChunk) {
    stream_chunk<Vec, Stored>(product, block, begin, n_begin);
    for (std::size_t i = 0; i < round_up(columns, kStrip<Vec>) * product.m; i += kLanes) {
      const Vec sum = Vec::load(block.sums + i);
      (begin == 0 ? sum : Vec::load(totals + i) + sum).store(totals + i);
    }
  }
  finish_strips<Vec>(product, totals, n_begin, columns);
}

}  // namespace gpt2
