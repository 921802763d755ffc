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
                    a.head_dim - d < kChunk ? a.head_dim - d : kChunk);
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

/// sum += weights * values of keys [begin, end), ascending, for one step of columns.
template <class Vec, class Lanes>
[[gnu::always_inline]] inline Vec mix_keys(const HeadAttention& a, Vec sum, const float* weight,
                                           std::size_t begin, std::size_t end, std::size_t column,
                                           Lanes lanes) {
  for (std::size_t key = begin; key < end; ++key) {
    const Vec value = load<Vec>(a.values + key * a.head_dim + column, lanes);
    sum = fma(Vec::broadcast(weight[key]), value, sum);
  }
  return sum;
}

/// y[row] = sum over keys of weight * value / total, for one step of columns.
template <class Vec, class Lanes>
void mix_values(const HeadAttention& a, std::size_t row, std::size_t keys, const float* weight,
                float total, std::size_t column, Lanes lanes) {
  Vec sum = Vec::broadcast(0.0f);
  for (std::size_t begin = 0; begin < keys; begin += kChunk) {
    const std::size_t end = keys - begin < kChunk ? keys : begin + kChunk;
    const Vec chunk = mix_keys(a, Vec::broadcast(0.0f), weight, begin, end, column, lanes);
    sum = begin == 0 ? chunk : sum + chunk;
  }
  store(a.y + row * a.y_stride + column, sum / Vec::broadcast(total), lanes);
}

/// The same for kVecs steps of columns and kRows consecutive rows at once, whose weights are
/// `stride` apart and of which the first sees `keys` keys, each other one more than the one before.
template <class Vec, std::size_t kRows, std::size_t kVecs>
void mix_tile(const HeadAttention& a, std::size_t row, std::size_t keys, const float* weight,
              std::size_t stride, const float* total, std::size_t column) {
  float* const y = a.y + row * a.y_stride + column;
  const float* const values = a.values + column;
  for (std::size_t begin = 0; begin < keys + kRows - 1; begin += kChunk) {
    const std::size_t common =
        begin < keys ? (keys - begin < kChunk ? keys : begin + kChunk) : begin;
    Tile<Vec, kRows, kVecs> tile;
    tile.multiply(weight + begin, stride, values + begin * a.head_dim, a.head_dim, common - begin);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t last = keys + i < begin + kChunk ? keys + i : begin + kChunk;
      if (last <= begin) continue;  // no key of this chunk
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        const std::size_t at = j * kLanes;
        float* const to = y + i * a.y_stride + at;
        const Vec chunk =
            mix_keys(a, tile.sum[i][j], weight + i * stride, common, last, column + at, Full{});
        const Vec sum = begin == 0 ? chunk : Vec::load(to) + chunk;
        (keys + i == last ? sum / Vec::broadcast(total[i]) : sum).store(to);
      }
    }
  }
}

template <class Vec, std::size_t kRows>
void attend_rows(const HeadAttention& a, std::size_t row, float* scratch) {
  constexpr std::size_t kVecs = kRows == 1 ? 4 : Vec::kTileVecs;
  const std::size_t keys = a.first + row + 1;  // that the first of these rows sees
  const std::size_t stride = round_up(keys + kRows - 1, kPanel);
  attention_scores<Vec, kRows>(a, row, keys + kRows - 1, scratch, stride);
  float total[kRows];
  for (std::size_t i = 0; i < kRows; ++i) {
    total[i] = attention_weights<Vec>(scratch + i * stride, keys + i, a.scale);
  }
  std::size_t column = 0;
  for (; column + kVecs * kLanes <= a.head_dim; column += kVecs * kLanes) {
    mix_tile<Vec, kRows, kVecs>(a, row, keys, scratch, stride, total, column);
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for_each_vec<Vec>(a.head_dim - column, [&](std::size_t step, auto lanes) {
      mix_values<Vec>(a, row + i, keys + i, scratch + i * stride, total[i], column + step, lanes);
    });
  }
}

template <class Vec>
void attention(const HeadAttention& a, float* scratch) noexcept {
  for (std::size_t row = 0; row < a.rows; row += Vec::kTileRows) {
    with_rows<Vec::kTileRows>(a.rows - row,
                              [&](auto rows) { attend_rows<Vec, rows.value>(a, row, scratch); });
  }
}

}  // namespace gpt2
