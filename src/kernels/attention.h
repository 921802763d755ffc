#pragma once

#include "kernels/elementwise.h"
#include "kernels/matmul.h"

namespace gpt2 {

/// scores[i, j] = q[i] . key[j] * scale for the keys of whole panels.
template <class Vec, std::size_t kRows>
void attention_scores(const HeadAttention& a, std::size_t row, std::size_t keys, float* scores,
                      std::size_t stride) {
  constexpr std::size_t kStep = Vec::kTileVecs * kLanes;
  for (std::size_t key = 0; key < keys; key += kStep) {
    const std::size_t panel = key / kPanel * kPanel;
    const float* const k = a.keys + panel * a.head_dim + key - panel;
    for (std::size_t d = 0; d < a.head_dim; d += kChunk) {
      Tile<Vec, kRows, Vec::kTileVecs> tile;
      tile.multiply(a.q + row * a.q_stride + d, a.q_stride, k + d * kPanel, kPanel,
                    a.head_dim - d < kChunk ? a.head_dim - d : kChunk, [] {});
      tile.store(scores + key, stride, d > 0);
    }
  }
}

/// In place, over the `keys` scores of a row: e^(score * scale - the largest). Returns their sum.
template <class Vec>
float attention_weights(float* score, std::size_t keys, float scale) {
  for_each_vec<Vec>(keys, [&](std::size_t i, auto lanes) {
    store(score + i, load<Vec>(score + i, lanes) * Vec::broadcast(scale), lanes);
  });
  return exp_sum<Vec>(score, score, max_of<Vec>(score, keys), keys);
}

/// y[row] = sum over keys of weight * value / total, for one step of columns.
template <class Vec, class Lanes>
void mix_values(const HeadAttention& a, std::size_t row, std::size_t keys, const float* weight,
                float total, std::size_t column, Lanes lanes) {
  Vec sum = Vec::broadcast(0.0f);
  for (std::size_t begin = 0; begin < keys; begin += kChunk) {
    const std::size_t end = keys - begin < kChunk ? keys : begin + kChunk;
    Vec chunk = Vec::broadcast(0.0f);
    for (std::size_t key = begin; key < end; ++key) {
      const Vec value = load<Vec>(a.values + key * a.head_dim + column, lanes);
      chunk = fma(Vec::broadcast(weight[key]), value, chunk);
    }
    sum = begin == 0 ? chunk : sum + chunk;
  }
  store(a.y + row * a.y_stride + column, sum / Vec::broadcast(total), lanes);
}

template <class Vec>
void attention(const HeadAttention& a, float* scratch) noexcept {
  constexpr std::size_t kMost = Vec::kTileRows;
  for (std::size_t row = 0; row < a.rows; row += kMost) {
    with_rows<Vec::kTileRows>(a.rows - row, [&](auto rows) {
      const std::size_t last = a.first + row + rows.value;  // keys that the last of these rows sees
      const std::size_t stride = (last + kPanel - 1) / kPanel * kPanel;
      attention_scores<Vec, rows.value>(a, row, last, scratch, stride);
      for (std::size_t i = 0; i < rows.value; ++i) {
        float* const score = scratch + i * stride;
        const std::size_t keys = a.first + row + i + 1;
        const float total = attention_weights<Vec>(score, keys, a.scale);
        for_each_vec<Vec>(a.head_dim, [&](std::size_t column, auto lanes) {
          mix_values<Vec>(a, row + i, keys, score, total, column, lanes);
        });
      }
    });
  }
}

}  // namespace gpt2
