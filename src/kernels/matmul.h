#pragma once

#include "kernels/lanes.h"

// The parts that all matrix products share: the tile of sums in registers, and the step that turns
// sums into results.

namespace gpt2 {

/// How many bytes ahead a walk that reads a single stream may prefetch into the L1 cache. On Zen 5,
/// 8 to 16 KiB were equally fast for bf16, and 12 to 16 KiB for int4.
inline constexpr std::size_t kFarAhead = 12288;

/// A tile of sums that stays in registers, for kRows rows of x and kVecs vectors of columns. The
/// headers vec_*.h choose the sizes so that the sums, kVecs vectors of weights and one value of x
/// fit the registers.
template <class Vec, std::size_t kRows, std::size_t kVecs>
struct Tile {
  Vec sum[kRows][kVecs] = {};

  /// sum[i][j] += x[i, 0 ... depth) w[0 ... depth, j], with one chain of fmas for each sum.
  template <class Stored>
  [[gnu::always_inline]] void multiply(const float* x, std::size_t x_stride, const Stored* w,
                                       std::size_t w_stride, std::size_t depth) {
    for (std::size_t k = 0; k < depth; ++k) {
      Vec column[kVecs];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) column[j] = Vec::load(w + k * w_stride + j * kLanes);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRows; ++i) {
        const Vec factor = x[i * x_stride + k];
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVecs; ++j) sum[i][j] = fma(factor, column[j], sum[i][j]);
      }
    }
  }

  /// y = sum, or y += sum if `add`.
  [[gnu::always_inline]] void store(float* y, std::size_t y_stride, bool add) const {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        float* const at = y + i * y_stride + j * kLanes;
        (add ? Vec::load(at) + sum[i][j] : sum[i][j]).store(at);
      }
    }
  }
};

/// Turns the sums of rows [begin, end) and columns [n_begin, n_begin + columns) into results: adds
/// the bias, applies the activation, and stores the results or accumulates them. `sums` begins with
/// row 0; its rows are `stride` apart and have `columns` sums, rounded up to kLanes. This
/// overwrites `sums`.
template <class Vec>
void finish(const Matmul& product, std::size_t begin, std::size_t end, float* sums,
            std::size_t stride, std::size_t n_begin, std::size_t columns) {
  // This prefetches, for writing, the row that is kRowsAhead rows further on, because y is often in
  // neither the L1 nor the L2 cache. With 8- and 4-bit weights this gained 3-4 % for prompts of
  // 512.
  constexpr std::size_t kRowsAhead = 4;
  for (std::size_t row = begin; row < end; ++row) {
    float* const sum = sums + row * stride;
    if (product.bias) {
      for_each_vec<Vec>(columns, [&](std::size_t i, auto lanes) {
        (Vec::load(sum + i) + load<Vec>(product.bias + n_begin + i, lanes)).store(sum + i);
      });
    }
    if (product.activation) product.activation(sum, columns);
    float* const y = product.y + row * product.y_stride + n_begin;
    if (row + kRowsAhead < product.m) {
      for (std::size_t i = 0; i < columns; i += 64 / sizeof(float)) {
        __builtin_prefetch(y + kRowsAhead * product.y_stride + i, 1);
      }
    }
    for_each_vec<Vec>(columns, [&](std::size_t i, auto lanes) {
      const Vec result = Vec::load(sum + i);
      store(y + i, product.accumulate ? load<Vec>(y + i, lanes) + result : result, lanes);
    });
  }
}

}  // namespace gpt2
