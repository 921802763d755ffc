#pragma once

#include "kernels/matmul_kn_streamed.h"

// One or two rows times weights that lie as [k, n], one chunk of k after another, and the second
// step for all products of at most kChunkRows rows. The threads share out the chunks. Two threads
// share the columns of one chunk only if the share of the first thread ends within that chunk.
// There are two reasons for this. Memory is fastest when it is read in long runs. And the
// hardware's prefetchers read on past the end of a run, so with short runs they often fetch data
// that another thread reads.

namespace gpt2 {

enum class Prefetch {
  none,
  next_rows,  ///< the rows of the next step, into the L2 cache
  far,        ///< kFarAhead further on, into the L1 cache; for steps of one row
};

/// The order in which the weights of a chunk are read for one or two rows of x. A step multiplies
/// `rows` rows of weights, each of which is a stream from memory, for `vecs` vectors of columns.
/// Their sums stay in registers.
struct ChunkWalk {
  std::size_t rows;        ///< must divide kChunk
  std::size_t vecs;        ///< at most 6
  Prefetch prefetch;       ///< what a step prefetches
  bool has_chunk_streams;  ///< whether short rows are read by add_whole_chunks()
};

// The max number of chunks that are read at once, each as one stream, if the rows are short. The
// sums of these chunks must stay in the L1 cache, because each row of weights loads and stores them
// once. They take at most 24 KiB if the weights are f32, and 48 KiB if they have 16 bits.
inline constexpr std::size_t kChunkStreams = 6;

// A row of fewer bytes than this is short. This is the size of a page, which is the longest run
// that the hardware's prefetchers follow.
inline constexpr std::size_t kShortRow = 4096;

/// sums[i, 0 ... columns) += x[i, 0 ... kRows) w[0 ... kRows, 0 ... columns) for kXRows rows of x.
/// The sums lie as in a StreamBlock.
template <class Vec, std::size_t kXRows, std::size_t kRows, ChunkWalk kWalk, class Stored>
void add_rows(float* sums, const float* x, std::size_t x_stride, const Stored* w,
              std::size_t w_stride, std::size_t columns) {
  for_each_vecs<Vec, kWalk.vecs>(columns, [&](auto vecs, std::size_t n, auto lanes) {
    constexpr std::size_t kWidth = vecs.value * kLanes;
    const auto at = [&](std::size_t i, std::size_t j) {
      return sums + strip_at<Vec>(n + j * kLanes, kXRows) + i * kStrip<Vec>;
    };
    Vec sum[kXRows][vecs.value];
#pragma GCC unroll 2
    for (std::size_t i = 0; i < kXRows; ++i) {
#pragma GCC unroll 6
      for (std::size_t j = 0; j < vecs.value; ++j) sum[i][j] = Vec::load(at(i, j));
    }
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kRows; ++k) {
      const Stored* const row = w + k * w_stride + n;
#pragma GCC unroll 6
      for (std::size_t j = 0; j < kWidth; j += 64 / sizeof(Stored)) {
        if constexpr (kWalk.prefetch == Prefetch::next_rows) {
          __builtin_prefetch(row + kRows * w_stride + j, 0, 2);
        } else if constexpr (kWalk.prefetch == Prefetch::far) {
          __builtin_prefetch(row + j + kFarAhead / sizeof(Stored), 0, 3);
        }
      }
#pragma GCC unroll 6
      for (std::size_t j = 0; j < vecs.value; ++j) {
        const Vec weight = load<Vec>(row + j * kLanes, lanes);
#pragma GCC unroll 2
        for (std::size_t i = 0; i < kXRows; ++i) {
          sum[i][j] = fma(x[i * x_stride + k], weight, sum[i][j]);
        }
      }
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < kXRows; ++i) {
#pragma GCC unroll 6
      for (std::size_t j = 0; j < vecs.value; ++j) sum[i][j].store(at(i, j));
    }
  });
}

/// sums[i][0 ... n) += x[i, 0 ... kChunk) w[i, 0 ... kChunk, 0 ... n) for kCount chunks i. Each
/// chunk is one stream, read from end to end.
template <class Vec, std::size_t kCount, class Stored>
void add_whole_chunks(float* sums, const float* x, const Stored* w, std::size_t n) {
  constexpr std::size_t kWidth = 4 * kLanes;             // 4 cache lines of f32 of each chunk
  constexpr std::size_t kAhead = 2048 / sizeof(Stored);  // half a page
  const std::size_t stride = chunk_stride(n);
  for (std::size_t k = 0; k < kChunk; ++k) {
    std::size_t column = 0;
    for (; column + kWidth <= n; column += kWidth) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kCount; ++i) {
        const Stored* const weight = w + (i * kChunk + k) * n + column;
        const Vec factor = x[i * kChunk + k];
        float* const sum = sums + i * stride + column;
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kWidth; j += 64 / sizeof(Stored)) {
          __builtin_prefetch(weight + j + kAhead, 0, 3);
        }
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kWidth; j += kLanes) {
          fma(factor, Vec::load(weight + j), Vec::load(sum + j)).store(sum + j);
        }
      }
    }
    for_each_vec<Vec>(n - column, [&](std::size_t j, auto lanes) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const Vec weight = load<Vec>(w + (i * kChunk + k) * n + column + j, lanes);
        float* const sum = sums + i * stride + column + j;
        fma(x[i * kChunk + k], weight, Vec::load(sum)).store(sum);
      }
    });
  }
}

/// Computes the chunk sums [begin, end) of kXRows rows.
template <class Vec, std::size_t kXRows, ChunkWalk kWalk, class Stored>
void walk_chunks(const Matmul& product, std::size_t begin, std::size_t end, float* sums) {
  const std::size_t n = product.n;
  const std::size_t stride = chunk_stride(n);
  for (std::size_t i = begin * kXRows; i < end * kXRows; i += kLanes) Vec(0.0f).store(sums + i);
  while (begin < end) {
    const std::size_t chunk = begin / stride;
    const std::size_t column = begin % stride;
    const float* const x = product.x + chunk * kChunk;
    const Stored* const w = static_cast<const Stored*>(product.w) + chunk * kChunk * n + column;
    const std::size_t last = min(end / stride, product.k / kChunk);
    if (kWalk.has_chunk_streams && column == 0 && chunk + 1 < last &&
        n * sizeof(Stored) < kShortRow) {
      with_count<kChunkStreams>(last - chunk, [&](auto count) {
        add_whole_chunks<Vec, count.value>(sums + begin, x, w, n);
        begin += count.value * stride;
      });
      continue;
    }
    const std::size_t width = min(stride - column, end - begin);
    const std::size_t columns = min(width, n - column);
    const std::size_t depth = min(kChunk, product.k - chunk * kChunk);
    float* const sum = sums + begin * kXRows;
    const auto add = [&](auto rows, std::size_t k) {
      add_rows<Vec, kXRows, rows.value, kWalk>(sum, x + k, product.x_stride, w + k * n, n, columns);
    };
    std::size_t k = 0;
    for (; k + kWalk.rows <= depth; k += kWalk.rows) add(Count<kWalk.rows>{}, k);
    for (; k < depth; ++k) add(Count<1>{}, k);
    begin += width;
  }
}

template <class Vec, ChunkWalk kWalk, class Stored>
void matmul_chunks_kn(const Matmul& product, std::size_t begin, std::size_t end,
                      float* sums) noexcept {
  if (product.m == 1) return walk_chunks<Vec, 1, kWalk, Stored>(product, begin, end, sums);
  if (kWalk.prefetch == Prefetch::far && product.m == 2) {
    constexpr ChunkWalk kOfTwoRows{1, 2, Prefetch::far, false};
    return walk_chunks<Vec, 2, kOfTwoRows, Stored>(product, begin, end, sums);
  }
  stream_chunks<Vec, Stored>(product, begin, end, sums);
}

template <class Vec>
void add_chunks(const Matmul& product, std::size_t n_begin, std::size_t n_end,
                float* sums) noexcept {
  const std::size_t m = product.m;
  const std::size_t stride = chunk_stride(product.n) * m;
  for (std::size_t i = n_begin * m; i < round_up(n_end, kStrip<Vec>) * m; i += kLanes) {
    Vec total = Vec::load(sums + i);
    for (std::size_t k = kChunk; k < product.k; k += kChunk) {
      total = total + Vec::load(sums + k / kChunk * stride + i);
    }
    total.store(sums + i);
  }
  finish_strips<Vec>(product, sums + n_begin * m, n_begin, n_end - n_begin);
}

}  // namespace gpt2
