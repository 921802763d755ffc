#pragma once

#include "kernels/matmul.h"

// One row times weights that lie as [k, n], chunk by chunk of k: each chunk is read from end to
// end, several at once, for so many long streams are what memory is fastest at. Threads share out
// the chunks, and then the columns to add them up.

namespace gpt2 {

inline constexpr std::size_t kChunkStreams = 6;

/// sums[i][0 ... n) = x[i, 0 ... depth) w[i, 0 ... depth, 0 ... n) for kCount chunks i that begin
/// kChunk apart.
template <class Vec, std::size_t kCount, class Stored>
void sum_chunks(float* sums, const float* x, const Stored* w, std::size_t n, std::size_t depth) {
  constexpr std::size_t kVecs = 4;
  const std::size_t stride = round_up(n, kLanes);
  for (std::size_t i = 0; i < kCount * stride; i += kLanes) Vec::broadcast(0.0f).store(sums + i);
  for (std::size_t k = 0; k < depth; ++k) {
    std::size_t column = 0;
    for (; column + kVecs * kLanes <= n; column += kVecs * kLanes) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kCount; ++i) {
        const Stored* const weight = w + (i * kChunk + k) * n + column;
        const Vec factor = Vec::broadcast(x[i * kChunk + k]);
        float* const sum = sums + i * stride + column;
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVecs * kLanes; j += kLanes) {
          fma(factor, Vec::load(weight + j), Vec::load(sum + j)).store(sum + j);
        }
      }
    }
    for_each_vec<Vec>(n - column, [&](std::size_t j, auto lanes) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const Vec weight = load<Vec>(w + (i * kChunk + k) * n + column + j, lanes);
        float* const sum = sums + i * stride + column + j;
        fma(Vec::broadcast(x[i * kChunk + k]), weight, Vec::load(sum)).store(sum);
      }
    });
  }
}

template <class Vec, class Stored>
void matmul_chunks_kn(const Matmul& product, std::size_t begin, std::size_t end,
                      float* sums) noexcept {
  const std::size_t whole = product.k / kChunk;  // chunks; one that is not comes last
  while (begin < end) {
    const std::size_t left = (begin < whole && end > whole ? whole : end) - begin;
    const std::size_t depth = begin < whole ? kChunk : product.k % kChunk;
    with_rows<kChunkStreams>(left, [&](auto count) {
      sum_chunks<Vec, count.value>(
          sums + begin * round_up(product.n, kLanes), product.x + begin * kChunk,
          static_cast<const Stored*>(product.w) + begin * kChunk * product.n, product.n, depth);
      begin += count.value;
    });
  }
}

template <class Vec>
void add_chunks(const Matmul& product, std::size_t n_begin, std::size_t n_end,
                float* sums) noexcept {
  const std::size_t stride = round_up(product.n, kLanes);
  for (std::size_t n = n_begin; n < n_end; n += kLanes) {
    Vec total = Vec::load(sums + n);
    for (std::size_t k = kChunk; k < product.k; k += kChunk) {
      total = total + Vec::load(sums + k / kChunk * stride + n);
    }
    total.store(sums + n);
  }
  finish<Vec>(product, {0, 1}, sums + n_begin, 0, n_begin, n_end - n_begin);
}

}  // namespace gpt2
