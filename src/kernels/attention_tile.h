#pragma once

#include "kernels/attention_row.h"

namespace gpt2 {

/// Returns the part of the attention that begins with query i.
template <class Vec>
HeadAttention from_query(const HeadAttention& a, std::size_t i) {
  HeadAttention rest = a;
  rest.y += i * a.y_stride;
  rest.q += i * a.q_stride;
  rest.first += i;
  return rest;
}

/// scores[i, j] = q[i] . key[j] for the first kRows queries and `keys` keys, rounded up to whole
/// tiles. Rows of scores are `stride` apart.
template <class Vec, class Stored, std::size_t kRows>
void attention_scores(const HeadAttention& a, std::size_t keys, float* scores, std::size_t stride) {
  constexpr std::size_t kStep = kAttentionVecs<Vec> * kLanes;
  for (std::size_t key = 0; key < keys; key += kStep) {
    const Stored* const k = key_panel<Stored>(a, key / kPanel) + key % kPanel;
    for (std::size_t d = 0; d < a.head_dim; d += kChunk) {
      Tile<Vec, kRows, kAttentionVecs<Vec>> tile;
      tile.multiply(a.q + d, a.q_stride, k + d * kPanel, kPanel, min(kChunk, a.head_dim - d));
      tile.store(scores + key, stride, d > 0);
    }
  }
}

/// y = (weights times values) / total for the first kRows queries and kVecs vectors of columns from
/// `column` on. The weights are the exponentials of the scores, and `total` has their sum for each
/// query. Rows of weights are `stride` apart.
///
/// The tile multiplies the values of the keys that all of these queries see. Query i sees i more
/// keys, whose values are then added one by one.
template <class Vec, class Stored, std::size_t kRows, std::size_t kVecs>
void mix_tile(const HeadAttention& a, const float* weight, std::size_t stride, const float* total,
              std::size_t column) {
  const std::size_t keys = a.first + 1;  // those that the first query sees
  float* const y = a.y + column;
  for (std::size_t begin = 0; begin < keys + kRows - 1; begin += kChunk) {
    const Stored* const values = block_values<Stored>(a, begin / kChunk) + column;
    const std::size_t common = begin < keys ? min(keys, begin + kChunk) : begin;
    Tile<Vec, kRows, kVecs> tile;
    tile.multiply(weight + begin, stride, values, a.head_dim, common - begin);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t last = min(keys + i, begin + kChunk);
      if (last <= begin) continue;  // no key of this chunk
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        const std::size_t at = j * kLanes;
        float* const to = y + i * a.y_stride + at;
        Vec chunk = tile.sum[i][j];
        for (std::size_t key = common; key < last; ++key) {
          const Vec value = Vec::load(values + (key - begin) * a.head_dim + at);
          chunk = fma(weight[i * stride + key], value, chunk);
        }
        const Vec sum = begin == 0 ? chunk : Vec::load(to) + chunk;
        (keys + i == last ? sum / total[i] : sum).store(to);
      }
    }
  }
}

/// For the first kRows queries.
template <class Vec, class Stored, std::size_t kRows>
void attend_rows(const HeadAttention& a, float* scratch) {
  static_assert(kRows <= kMaxQueries);
  constexpr std::size_t kVecs = kAttentionVecs<Vec>;
  const std::size_t keys = a.first + kRows;
  const std::size_t stride = round_up(keys, kPanel);
  attention_scores<Vec, Stored, kRows>(a, keys, scratch, stride);
  // Each step of softmax is done for all rows before the next step begins. The operations of one
  // row depend on one another, but those of several rows can overlap. With scaling and finding the
  // max in one pass, this made the attention kernel 7 % faster.
  float largest[kRows], total[kRows];
  for (std::size_t i = 0; i < kRows; ++i) {
    largest[i] = scale_scores<Vec>(scratch + i * stride, a.first + i + 1, a.scale);
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    float* const weight = scratch + i * stride;
    total[i] = exp_sum<Vec>(weight, weight, largest[i], a.first + i + 1);
  }
  std::size_t column = 0;
  for (; column + kVecs * kLanes <= a.head_dim; column += kVecs * kLanes) {
    mix_tile<Vec, Stored, kRows, kVecs>(a, scratch, stride, total, column);
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for_each_vec<Vec>(a.head_dim - column, [&](std::size_t step, auto lanes) {
      mix_row<Vec, Stored, 1>(from_query<Vec>(a, i), scratch + i * stride, total[i], column + step,
                              lanes);
    });
  }
}

template <class Vec, class Stored>
void attention(const HeadAttention& a, float* scratch) noexcept {
  for (std::size_t row = 0; row < a.rows; row += kAttentionRows<Vec>) {
    with_count<kAttentionRows<Vec>>(a.rows - row, [&](auto rows) {
      const HeadAttention rest = from_query<Vec>(a, row);
      if constexpr (rows.value == 1) {
        attend_row<Vec, Stored>(rest, scratch);
      } else {
        attend_rows<Vec, Stored, rows.value>(rest, scratch);
      }
    });
  }
}

}  // namespace gpt2
