#pragma once

#include "kernels/matmul.h"
#include "kernels/vec_math.h"

// Products of quantised rows with packed int8 and int4 panels. Int::sum_from and dot together make
// the exact sum of (code - 128) * x, whatever the instructions underneath.

namespace gpt2 {

struct Int8Codes {
  static constexpr std::size_t kBlock = kInt8Block;
  static constexpr std::size_t kBlockBytes = kInt8BlockBytes;

  /// The codes of k = 4 part ... 4 part + 3 for kLanes columns.
  template <class Int>
  [[gnu::always_inline]] static Int load(const unsigned char* codes, std::size_t part,
                                         std::size_t column) {
    return Int::load(codes + part * 4 * kPanel + column * 4);
  }
};

struct Int4Codes {
  static constexpr std::size_t kBlock = kInt4Block;
  static constexpr std::size_t kBlockBytes = kInt4BlockBytes;

  template <class Int>
  [[gnu::always_inline]] static Int load(const unsigned char* codes, std::size_t part,
                                         std::size_t column) {
    const Int pair = Int::load(codes + part / 2 * 4 * kPanel + column * 4);
    const Int nibbles = part % 2 == 0 ? pair : shift_right<4>(pair);
    return codebook_lookup(nibbles & 0x0f0f0f0f);
  }
};

inline constexpr std::size_t kPanels = 4;  // that are multiplied together, and their columns
inline constexpr std::size_t kPanelColumns = kPanels * kPanel;

/// Fetches one of the kBlock / 4 parts of a block.
template <class Codes>
[[gnu::always_inline]] inline void fetch_part(const unsigned char* block, std::size_t part) {
  constexpr std::size_t kParts = Codes::kBlock / 4;
  constexpr std::size_t kLines = Codes::kBlockBytes / 64;
  for (std::size_t i = part * kLines / kParts; i < (part + 1) * kLines / kParts; ++i) {
    __builtin_prefetch(block + i * 64, 0, 3);
  }
}

/// Fetches into the L2 cache, at step `step` of kPanels * blocks, a piece of each of the kPanels
/// panels from `panel` on: that many streams from memory are faster than one. The fetches of a step
/// are divided into kBlock / 4 parts, for a burst of them would hold up the loads.
template <class Codes>
[[gnu::always_inline]] inline void fetch_panels(const unsigned char* panel, std::size_t panel_bytes,
                                                std::size_t step, std::size_t part) {
  constexpr std::size_t kParts = Codes::kBlock / 4;
  constexpr std::size_t kPiece = Codes::kBlockBytes / kPanels;
  constexpr std::size_t kLines = ceil_div(kPiece, 64) * kPanels;
  for (std::size_t i = part * kLines / kParts; i < (part + 1) * kLines / kParts; ++i) {
    __builtin_prefetch(panel + i % kPanels * panel_bytes + step * kPiece + i / kPanels * 64, 0, 2);
  }
}

/// sums (rows, kPanelColumns) = kRows rows times kVecs vectors of columns that begin at `column`;
/// the vectors past a panel's end are the next panel's. `panel`: the first one's codes.
template <class Vec, std::size_t kRows, std::size_t kVecs, class Codes>
[[gnu::always_inline]] inline void quantized_tile(float* sums, const QuantizedRows& x,
                                                  std::size_t row, const unsigned char* panel,
                                                  std::size_t column) {
  using Int = typename Vec::Integer;
  constexpr std::size_t kParts = Codes::kBlock / 4;
  const std::size_t panel_bytes = x.blocks * Codes::kBlockBytes;
  const unsigned char* block[kVecs];
  std::size_t column_in_panel[kVecs];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kVecs; ++j) {
    const std::size_t at = column + j * kLanes;
    block[j] = panel + at / kPanel * panel_bytes;
    column_in_panel[j] = at % kPanel;
  }
  constexpr std::size_t kAhead = kRows == 1 ? 1536 : 4096;  // bytes, into the L1 cache
  constexpr std::size_t kSkipped = ceil_div(kVecs * kLanes, kPanel) - 1;  // other streams' panels
  Vec total[kRows][kVecs] = {};
  for (std::size_t b = 0; b < x.blocks; ++b) {
    const bool ends = (b + 1) * Codes::kBlockBytes + kAhead > panel_bytes;
    const std::size_t ahead = ends ? kAhead + kSkipped * panel_bytes : kAhead;
    const std::size_t at = (row / kRowGroup * x.blocks + b) * kRowGroup + row % kRowGroup;
    Int sum[kRows][kVecs];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kVecs; ++j) sum[i][j] = Int::sum_from(x.offset[at + i]);
    }
    const std::int8_t* const value = x.value + at * Codes::kBlock;
#pragma GCC unroll 16
    for (std::size_t part = 0; part < kParts; ++part) {
      Int code[kVecs];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kVecs; ++j) {
        if (row == 0 && part % 2 == column_in_panel[j] / kLanes) {  // the first rows fetch for all
          fetch_part<Codes>(block[j] + ahead, part);
          if (kRows > 1) {
            fetch_panels<Codes>(panel + kPanels * panel_bytes, panel_bytes,
                                column / kPanel * x.blocks + b, part);
          }
        }
        code[j] = Codes::template load<Int>(block[j] + 2 * kPanel, part, column_in_panel[j]);
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kRows; ++i) {
        const Int four = Int::broadcast_bytes(value + i * Codes::kBlock + part * 4);
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kVecs; ++j) sum[i][j] = dot(sum[i][j], code[j], four);
      }
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
      const Vec x_scale = x.scale[at + i];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kVecs; ++j) {
        const F16* const scale = reinterpret_cast<const F16*>(block[j]) + column_in_panel[j];
        total[i][j] = fma(to_float(sum[i][j]), x_scale * Vec::load(scale), total[i][j]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kVecs; ++j) block[j] += Codes::kBlockBytes;
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kVecs; ++j) {
      total[i][j].store(sums + (row + i) * kPanelColumns + column + j * kLanes);
    }
  }
}

/// All rows times `panels` panels.
template <class Vec, class Codes>
void multiply_quantized(float* sums, const QuantizedRows& x, std::size_t m,
                        const unsigned char* panel, std::size_t panels) {
  // A single row is read for: panels side by side are so many streams from memory.
  constexpr std::size_t kWide = Vec::kQuantizedRowVecs;
  if (m == 1 && panels * kPanel % (kWide * kLanes) == 0) {
    for (std::size_t n = 0; n < panels * kPanel; n += kWide * kLanes) {
      quantized_tile<Vec, 1, kWide, Codes>(sums, x, 0, panel, n);
    }
    return;
  }
  constexpr std::size_t kMost = Vec::kQuantizedRows;
  static_assert(kRowGroup % kMost == 0);
  constexpr std::size_t kVecs = Vec::kQuantizedVecs;
  for (std::size_t column = 0; column < panels * kPanel; column += kPanel) {
    for (std::size_t row = 0; row < m; row += kMost) {
      with_count<kMost>(m - row, [&](auto rows) {
        for (std::size_t n = column; n < column + kPanel; n += kVecs * kLanes) {
          quantized_tile<Vec, rows.value, kVecs, Codes>(sums, x, row, panel, n);
        }
      });
    }
  }
}

template <class Vec, class Codes>
void quantized_matmul(const Matmul& product, const QuantizedRows& x, std::size_t n_begin,
                      std::size_t n_end, float* scratch) noexcept {
  for (std::size_t n = n_begin; n < n_end; n += kPanelColumns) {
    const std::size_t columns = min(kPanelColumns, n_end - n);
    const auto* const panel =
        static_cast<const unsigned char*>(product.w) + n / kPanel * x.blocks * Codes::kBlockBytes;
    multiply_quantized<Vec, Codes>(scratch, x, product.m, panel, ceil_div(columns, kPanel));
    finish<Vec>(product, 0, product.m, scratch, kPanelColumns, n, columns);
  }
}

/// One block: at most kBlock values of x.
template <class Vec, std::size_t kBlock>
void quantize_block(std::int8_t* value, float* scale, std::int32_t* offset, const float* x,
                    std::size_t count) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer, in the low bits of the sum
  float padded[kBlock];
  if (count < kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) padded[i] = i < count ? x[i] : 0.0f;
    x = padded;
  }
  Vec largest = 0.0f;
  for (std::size_t i = 0; i < kBlock; i += kLanes) largest = max(abs(Vec::load(x + i)), largest);
  const float magnitude = reduce_max(largest);
  // Below this the inverse would overflow, and the block is as good as zero.
  const float inverse = magnitude > 0x1p-100f ? 127.0f / magnitude : 0.0f;
  Vec sum = 0.0f;
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    const Vec shifted = fma(Vec::load(x + i), inverse, kRound);
    store_low_bytes(value + i, bits_of(shifted));
    sum = sum + (shifted - kRound);
  }
  // The sum of a block's integers is exact in f32, and so is this way to make it an integer. NaN
  // and infinity make it NaN, and with it the scale and every product.
  const float shifted_sum = reduce_add(sum) + kRound;
  const bool is_number = shifted_sum == shifted_sum;
  *scale = is_number ? magnitude / 127.0f : shifted_sum;
  *offset = is_number ? -128 * (__builtin_bit_cast(std::int32_t, shifted_sum) -
                                __builtin_bit_cast(std::int32_t, kRound))
                      : 0;
}

template <class Vec, std::size_t kBlock>
void quantize_row(const QuantizedRows& y, const float* x, std::size_t k) noexcept {
  for (std::size_t b = 0; b < y.blocks; ++b) {
    const std::size_t begin = b * kBlock;
    const std::size_t at = b * kRowGroup;
    quantize_block<Vec, kBlock>(y.value + at * kBlock, y.scale + at, y.offset + at, x + begin,
                                min(kBlock, k - begin));
  }
}

}  // namespace gpt2
