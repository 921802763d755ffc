#pragma once

#include "kernels/matmul.h"
#include "kernels/vec_math.h"

// Products of quantised rows with packed int8 and int4 panels. A Vec's integers bring
//   sum_from(offset)          where a block's sum starts
//   dot(sum, codes, x)        sum + per lane the dot product of 4 codes (unsigned bytes) with 4 x
// which together make the exact sum of (code - 128) * x, whatever the instructions underneath.

namespace gpt2 {

struct Int8Codes {
  static constexpr std::size_t kBlockBytes = kInt8BlockBytes;

  /// The codes of k = 8 pair ... 8 pair + 3 and those of the 4 after, for kLanes columns.
  template <class Int>
  [[gnu::always_inline]] static void load(Int& first, Int& second, const unsigned char* codes,
                                          std::size_t pair, std::size_t column) {
    const unsigned char* const at = codes + pair * 8 * kPanel + column * 4;
    first = Int::load(at);
    second = Int::load(at + 4 * kPanel);
  }
};

struct Int4Codes {
  static constexpr std::size_t kBlockBytes = kInt4BlockBytes;

  template <class Int>
  [[gnu::always_inline]] static void load(Int& first, Int& second, const unsigned char* codes,
                                          std::size_t pair, std::size_t column) {
    const Int nibbles = Int::load(codes + pair * 4 * kPanel + column * 4);
    const Int mask = Int::broadcast(0x0f0f0f0f);
    first = codebook_lookup(nibbles & mask);
    second = codebook_lookup(shift_right<4>(nibbles) & mask);
  }
};

/// kRows rows times kVecs vectors of columns of one panel. `codes` and `scales` point at the first
/// column in the panel's first block.
template <class Vec, std::size_t kRows, std::size_t kVecs, class Codes>
[[gnu::always_inline]] inline void quantized_tile(float* sums, const QuantizedRows& x,
                                                  std::size_t row, const unsigned char* panel,
                                                  std::size_t column) {
  using Int = typename Vec::Integer;
  Vec total[kRows][kVecs] = {};
  for (std::size_t b = 0; b < x.blocks; ++b, panel += Codes::kBlockBytes) {
    const std::size_t at = (row / kRowGroup * x.blocks + b) * kRowGroup + row % kRowGroup;
    Int sum[kRows][kVecs];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) sum[i][j] = Int::sum_from(x.offset[at + i]);
    }
    const std::int8_t* const value = x.value + at * kBlock;
#pragma GCC unroll 4
    for (std::size_t pair = 0; pair < kBlock / 8; ++pair) {
      Int first[kVecs], second[kVecs];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        Codes::load(first[j], second[j], panel + 2 * kPanel, pair, column + j * kLanes);
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRows; ++i) {
        const std::int8_t* const eight = value + i * kBlock + pair * 8;
        const Int x_first = Int::broadcast_bytes(eight);
        const Int x_second = Int::broadcast_bytes(eight + 4);
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVecs; ++j) {
          sum[i][j] = dot(dot(sum[i][j], first[j], x_first), second[j], x_second);
        }
      }
    }
    const F16* const scale = reinterpret_cast<const F16*>(panel) + column;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
      const Vec x_scale = Vec::broadcast(x.scale[at + i]);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) {
        const Vec both = x_scale * Vec::load(scale + j * kLanes);
        total[i][j] = fma(to_float(sum[i][j]), both, total[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kVecs; ++j) {
      total[i][j].store(sums + (row + i) * kPanel + column + j * kLanes);
    }
  }
}

template <class Vec, class Codes>
void quantized_matmul(const Matmul& product, const QuantizedRows& x, std::size_t n_begin,
                      std::size_t n_end, float* scratch) noexcept {
  constexpr std::size_t kMost = Vec::kQuantizedRows;
  static_assert(kRowGroup % kMost == 0);
  constexpr std::size_t kVecs = Vec::kQuantizedVecs;
  for (std::size_t n = n_begin; n < n_end; n += kPanel) {
    const auto* const panel =
        static_cast<const unsigned char*>(product.w) + n / kPanel * x.blocks * Codes::kBlockBytes;
    for (std::size_t row = 0; row < product.m; row += kMost) {
      with_rows<kMost>(product.m - row, [&](auto rows) {
        for (std::size_t column = 0; column < kPanel; column += kVecs * kLanes) {
          quantized_tile<Vec, rows.value, kVecs, Codes>(scratch, x, row, panel, column);
        }
      });
    }
    finish<Vec>(product, {0, product.m}, scratch, kPanel, n,
                n_end - n < kPanel ? n_end - n : kPanel);
  }
}

/// One block: at most kBlock values of x.
template <class Vec>
void quantize_block(std::int8_t* value, float* scale, std::int32_t* offset, const float* x,
                    std::size_t count) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer, in the low bits of the sum
  float padded[kBlock];
  if (count < kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) padded[i] = i < count ? x[i] : 0.0f;
    x = padded;
  }
  Vec largest = Vec::broadcast(0.0f);
  for (std::size_t i = 0; i < kBlock; i += kLanes) largest = max(abs(Vec::load(x + i)), largest);
  const float magnitude = reduce_max(largest);
  // Below this the inverse would overflow, and the block is as good as zero.
  const float inverse = magnitude > 0x1p-100f ? 127.0f / magnitude : 0.0f;
  Vec sum = Vec::broadcast(0.0f);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    const Vec shifted = fma(Vec::load(x + i), Vec::broadcast(inverse), Vec::broadcast(kRound));
    store_low_bytes(value + i, bits_of(shifted));
    sum = sum + (shifted - Vec::broadcast(kRound));
  }
  // The sum of 32 integers is exact in f32, and so is this way to make it an integer. NaN and
  // infinity make it NaN, and with it the scale and every product.
  const float shifted_sum = reduce_add(sum) + kRound;
  const bool is_number = shifted_sum == shifted_sum;
  *scale = is_number ? magnitude / 127.0f : shifted_sum;
  *offset = is_number ? -128 * (__builtin_bit_cast(std::int32_t, shifted_sum) -
                                __builtin_bit_cast(std::int32_t, kRound))
                      : 0;
}

template <class Vec>
void quantize_row(const QuantizedRows& y, const float* x, std::size_t k) noexcept {
  for (std::size_t b = 0; b < y.blocks; ++b) {
    const std::size_t begin = b * kBlock;
    const std::size_t at = b * kRowGroup;
    quantize_block<Vec>(y.value + at * kBlock, y.scale + at, y.offset + at, x + begin,
                        k - begin < kBlock ? k - begin : kBlock);
  }
}

}  // namespace gpt2
