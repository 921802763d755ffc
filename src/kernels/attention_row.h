#pragma once

#include "kernels/elementwise.h"
#include "kernels/matmul.h"

// Attention of one query. It reads all keys and values from memory, and memory is fastest when
// several long streams are read at once.

namespace gpt2 {

// The size of a tile of attention, in vectors of columns and in rows. Such a tile has as many sums
// as a tile of other products (see Vec::kTileRows), but it is not wider than a panel of keys.
template <class Vec>
inline constexpr std::size_t kAttentionVecs = min(kPanel / kLanes, Vec::kTileVecs);
template <class Vec>
inline constexpr std::size_t kAttentionRows = (Vec::kTileVecs / kAttentionVecs<Vec> *
                                               Vec::kTileRows);

// How many panels of keys, or chunks of values, are read at once, each as one stream: 4 with
// AVX-512, 2 otherwise. mix_row() has kAttentionStreams * 2 * kAttentionVecs sums, which take 16
// registers of AVX-512 or NEON and 8 of AVX2.
template <class Vec>
inline constexpr std::size_t kAttentionStreams = 2 * kAttentionVecs<Vec>;

/// How many numbers ahead of each stream the keys and values are prefetched into the L1 cache: one
/// page of 4 KiB, or nothing for few keys.
template <class Stored>
[[gnu::always_inline]] inline std::size_t attention_ahead(const HeadAttention& a) {
  return a.first < kFewKeys ? 0 : 4096 / sizeof(Stored);
}

/// Prefetches a cache line, which begins at p or `ahead` numbers after it. p is vector j of several
/// adjacent vectors. If a cache line contains several vectors, only the call for the first of them
/// prefetches it.
template <class Stored>
[[gnu::always_inline]] inline void prefetch_ahead(const Stored* p, std::size_t j,
                                                  std::size_t ahead) {
  if (j * kLanes * sizeof(Stored) % 64 == 0) __builtin_prefetch(p + ahead, 0, 3);
}

template <class Stored>
[[gnu::always_inline]] inline const Stored* key_panel(const HeadAttention& a, std::size_t panel) {
  constexpr std::size_t kBlockPanels = kChunk / kPanel;
  const auto* const block = static_cast<const Stored*>(a.blocks[panel / kBlockPanels]);
  return block + a.keys + panel % kBlockPanels * a.head_dim * kPanel;
}

template <class Stored>
[[gnu::always_inline]] inline const Stored* block_values(const HeadAttention& a,
                                                         std::size_t block) {
  return static_cast<const Stored*>(a.blocks[block]) + a.values;
}

/// Multiplies the `keys` scores of a row by `scale`, and returns the max of the results.
template <class Vec>
float scale_scores(float* score, std::size_t keys, float scale) {
  Vec largest = -__builtin_inff();
  for_each_vec<Vec>(keys, [&](std::size_t i, auto lanes) {
    const Vec scaled = load<Vec>(score + i, lanes, -__builtin_inff()) * scale;
    store(score + i, scaled, lanes);
    largest = max(scaled, largest);
  });
  return reduce_max(largest);
}

/// scores = q . key for the keys of kCount panels: panel, panel + apart, panel + 2 apart ...
template <class Vec, class Stored, std::size_t kCount>
void score_panels(const HeadAttention& a, std::size_t panel, std::size_t apart, float* scores) {
  constexpr std::size_t kVecs = kPanel / kLanes;
  const std::size_t ahead = attention_ahead<Stored>(a);
  const Stored* keys[kCount];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kCount; ++i) keys[i] = key_panel<Stored>(a, panel + i * apart);
  for (std::size_t begin = 0; begin < a.head_dim; begin += kChunk) {
    const std::size_t end = min(a.head_dim, begin + kChunk);
    Vec sum[kCount][kVecs] = {};
    for (std::size_t d = begin; d < end; ++d) {
      const Vec factor = a.q[d];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kCount; ++i) {
        const Stored* const key = keys[i] + d * kPanel;
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVecs; ++j) {
          prefetch_ahead(key + j * kLanes, j, ahead);
          sum[i][j] = fma(factor, Vec::load(key + j * kLanes), sum[i][j]);
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kCount; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        float* const at = scores + (panel + i * apart) * kPanel + j * kLanes;
        (begin == 0 ? sum[i][j] : Vec::load(at) + sum[i][j]).store(at);
      }
    }
  }
}

/// y = (weights times values) / total for one query and kVecs vectors of columns from `column` on.
/// `weight` has one weight for each key, and `total` is the sum of the weights. Reads the values of
/// up to kAttentionStreams chunks of keys at once, and adds the sums of the chunks in order.
template <class Vec, class Stored, std::size_t kVecs, class Lanes>
void mix_row(const HeadAttention& a, const float* weight, float total, std::size_t column,
             Lanes lanes) {
  constexpr std::size_t kStreams = kAttentionStreams<Vec>;
  const std::size_t ahead = attention_ahead<Stored>(a);
  const std::size_t keys = a.first + 1;
  Vec y[kVecs];
  std::size_t key = 0;
  while (key < keys) {
    const std::size_t whole = (keys - key) / kChunk;
    const std::size_t depth = min(kChunk, keys - key);
    with_count<kStreams>(whole, [&](auto chunks) {
      Vec sum[chunks.value][kVecs] = {};
      const Stored* values[chunks.value];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < chunks.value; ++i) {
        values[i] = block_values<Stored>(a, key / kChunk + i) + column;
      }
      for (std::size_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < chunks.value; ++i) {
          const Vec factor = weight[key + k + i * kChunk];
          const Stored* const value = values[i] + k * a.head_dim;
#pragma GCC unroll 4
          for (std::size_t j = 0; j < kVecs; ++j) {
            prefetch_ahead(value + j * kLanes, j, ahead);
            sum[i][j] = fma(factor, load<Vec>(value + j * kLanes, lanes), sum[i][j]);
          }
        }
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < chunks.value; ++i) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVecs; ++j) {
          y[j] = key == 0 && i == 0 ? sum[i][j] : y[j] + sum[i][j];
        }
      }
      key += chunks.value * depth;
    });
  }
  for (std::size_t j = 0; j < kVecs; ++j) {
    store(a.y + column + j * kLanes, y[j] / total, lanes);
  }
}

template <class Vec, class Stored>
void attend_row(const HeadAttention& a, float* scores) {
  constexpr std::size_t kStreams = kAttentionStreams<Vec>;
  const std::size_t keys = a.first + 1;
  const std::size_t panels = ceil_div(keys, kPanel);
  const std::size_t apart = panels / kStreams;
  for (std::size_t i = 0; i < apart; ++i) {
    score_panels<Vec, Stored, kStreams>(a, i, apart, scores);
  }
  for (std::size_t i = apart * kStreams; i < panels; ++i) {
    score_panels<Vec, Stored, 1>(a, i, 0, scores);
  }
  const float largest = scale_scores<Vec>(scores, keys, a.scale);
  const float total = exp_sum<Vec>(scores, scores, largest, keys);
  constexpr std::size_t kVecs = 2 * kAttentionVecs<Vec>;
  for_each_vecs<Vec, kVecs>(a.head_dim, [&](auto vecs, std::size_t column, auto lanes) {
    mix_row<Vec, Stored, vecs.value>(a, scores, total, column, lanes);
  });
}

}  // namespace gpt2
