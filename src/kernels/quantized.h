#pragma once

#include "kernels/matmul.h"
#include "kernels/vec_math.h"

// Products of quantized rows with panels of int8 or int4 weights. Int::sum_from() and dot()
// together compute the exact sum of (code - 128) * x with every instruction set.

namespace gpt2 {

// These read the codes of a block and convert them to unsigned bytes. The weight is then
// scale * (byte - 128).
struct Int8Codes {
  static constexpr std::size_t kBlock = kInt8Block;
  static constexpr std::size_t kBlockBytes = kInt8BlockBytes;

  /// Returns the codes of k = 4 part ... 4 part + 3 for kLanes columns, four in each lane.
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

// The number of panels that are multiplied together. The product of a single row may read all four
// at once, as four streams from memory. The sums of kMaxRows rows and these columns take 256 KiB of
// the scratch.
inline constexpr std::size_t kPanels = 4;
inline constexpr std::size_t kPanelColumns = kPanels * kPanel;

// A part of a block is the codes of 4 consecutive k. A block has kBlock / 4 of them, and the tiles
// prefetch a little in each part, because many prefetches in a row would hold up the loads.

/// Prefetches the cache lines of a block that are due in part `part` into the L1 cache.
template <class Codes>
[[gnu::always_inline]] inline void fetch_part(const unsigned char* block, std::size_t part) {
  constexpr std::size_t kParts = Codes::kBlock / 4;
  constexpr std::size_t kLines = Codes::kBlockBytes / 64;
  for (std::size_t i = part * kLines / kParts; i < (part + 1) * kLines / kParts; ++i) {
    __builtin_prefetch(block + i * 64, 0, 3);
  }
}

/// Prefetches kPanels panels, the first of which is `panel`, into the L2 cache. The work is divided
/// into kPanels * blocks steps. Each step fetches a piece of each panel, because several streams
/// from memory are faster than one. This call fetches the cache lines that are due in part `part`
/// of step `step`. Fetching in parts, and from the L2 cache on into the L1 cache, gained 11 % for
/// batches of 8 with int8, 10 % for prompts of 16, 4 % for prompts of 512, and 12 % with AVX2.
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

/// The order in which a tile reads the weights.
struct QuantizedWalk {
  std::size_t vecs;     ///< how many vectors of columns are read at once; each panel is a stream
  std::size_t ahead;    ///< how many bytes ahead codes are prefetched into the L1 cache; 0: never
  bool fetches_panels;  ///< whether the next panels are prefetched into the L2 cache as well
};

inline constexpr QuantizedWalk kOnePanel{.vecs = 2, .ahead = 4096, .fetches_panels = true};

/// The walk of several rows, which read one panel at a time, in a kernel whose walk is kWalk.
template <class Vec, QuantizedWalk kWalk>
inline constexpr QuantizedWalk kOfSeveralRows =
    kWalk.vecs == kOnePanel.vecs
        ? QuantizedWalk{Vec::kQuantizedVecs, kWalk.ahead, kWalk.fetches_panels}
        : QuantizedWalk{Vec::kQuantizedVecs, kOnePanel.ahead, kOnePanel.fetches_panels};

/// Computes sums (rows, kPanelColumns) for kRows rows from `row` on and kWalk.vecs vectors of
/// columns from `column` on. The vectors may span several panels. `panel` is the first of the
/// kPanels panels; its first column is column 0.
template <class Vec, std::size_t kRows, QuantizedWalk kWalk, class Codes>
[[gnu::always_inline]] inline void quantized_tile(float* sums, const QuantizedRows& x,
                                                  std::size_t row, const unsigned char* panel,
                                                  std::size_t column) {
  using Int = typename Vec::Integer;
  constexpr std::size_t kVecs = kWalk.vecs;
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
  // A stream that reaches the end of its panel continues with the panel after the kSkipped panels
  // of the other streams.
  constexpr std::size_t kAhead = kWalk.ahead;
  constexpr std::size_t kSkipped = ceil_div(kVecs * kLanes, kPanel) - 1;
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
#ifdef __wasm__  // V8 makes one block of it all, with 989 moves to or from the stack
#pragma GCC unroll 1
#else
#pragma GCC unroll 16
#endif
    for (std::size_t part = 0; part < kParts; ++part) {
      Int code[kVecs];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kVecs; ++j) {
        // The first tile of rows prefetches, and the others find the panels in the cache. The two
        // halves of a panel take turns, so that each part is prefetched once.
        if (kWalk.ahead > 0 && row == 0 && part % 2 == column_in_panel[j] / kLanes) {
          fetch_part<Codes>(block[j] + ahead, part);
          if (kWalk.fetches_panels) {
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

/// Returns the number of rows of the tile that begins with `row`. A tile ends where its group of
/// rows ends. The first tile of int8 has as many rows as possible, because it waits for the weights
/// to come from memory. Otherwise a tile may have a third more than kQuantizedRows, rather than
/// leave one or two rows to a tile of their own.
template <class Vec, class Codes>
std::size_t tile_rows(std::size_t row, std::size_t m) {
  const std::size_t left = min(m - row, kRowGroup - row % kRowGroup);
  const bool is_whole = (row == 0 && Codes::kBlock == kInt8Block) ||
                        left <= Vec::kQuantizedRows + Vec::kQuantizedRows / 3;
  return min(left, is_whole ? Vec::kQuantizedMaxRows : Vec::kQuantizedRows);
}

/// Computes the sums of all m rows and `panels` panels, at most kPanels of them. Inlined, it would
/// make the tiles of a single row slower.
template <class Vec, class Codes, QuantizedWalk kWalk>
[[gnu::noinline]] void multiply_quantized(float* sums, const QuantizedRows& x, std::size_t m,
                                          const unsigned char* panel, std::size_t panels) {
  for (std::size_t column = 0; column < panels * kPanel; column += kPanel) {
    for (std::size_t row = 0, height = 0; row < m; row += height) {
      height = tile_rows<Vec, Codes>(row, m);
      with_count<Vec::kQuantizedMaxRows>(height, [&](auto rows) {
        for (std::size_t n = column; n < column + kPanel; n += kWalk.vecs * kLanes) {
          quantized_tile<Vec, rows.value, kWalk, Codes>(sums, x, row, panel, n);
        }
      });
    }
  }
}

template <class Vec, class Codes, QuantizedWalk kWalk>
void quantized_matmul(const Matmul& product, const QuantizedRows& x, std::size_t n_begin,
                      std::size_t n_end, float* scratch) noexcept {
  constexpr std::size_t kWide = kWalk.vecs;
  for (std::size_t n = n_begin; n < n_end; n += kPanelColumns) {
    const std::size_t columns = min(kPanelColumns, n_end - n);
    const auto* const panel =
        static_cast<const unsigned char*>(product.w) + n / kPanel * x.blocks * Codes::kBlockBytes;
    const std::size_t panels = ceil_div(columns, kPanel);
    if (product.m == 1 && panels * kPanel % (kWide * kLanes) == 0) {
      for (std::size_t column = 0; column < panels * kPanel; column += kWide * kLanes) {
        quantized_tile<Vec, 1, kWalk, Codes>(scratch, x, 0, panel, column);
      }
    } else {
      constexpr QuantizedWalk kMany = kOfSeveralRows<Vec, kWalk>;
      multiply_quantized<Vec, Codes, kMany>(scratch, x, product.m, panel, panels);
    }
    finish<Vec>(product, 0, product.m, scratch, kPanelColumns, n, columns);
  }
}

/// Quantizes `count` values of x, at most kBlock of them, to one block.
template <class Vec, std::size_t kBlock>
void quantize_block(std::int8_t* value, float* scale, std::int32_t* offset, const float* x,
                    std::size_t count) {
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits of the sum.
  constexpr float kRound = 0x1.8p23f;
  float padded[kBlock];
  if (count < kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) padded[i] = i < count ? x[i] : 0.0f;
    x = padded;
  }
  Vec largest = 0.0f;
  for (std::size_t i = 0; i < kBlock; i += kLanes) largest = max(abs(Vec::load(x + i)), largest);
  const float magnitude = reduce_max(largest);
  // The inverse would overflow if the magnitude were below 127 * 2^-128. A block whose magnitude is
  // 2^-100 or less counts as zero.
  const float inverse = magnitude > 0x1p-100f ? 127.0f / magnitude : 0.0f;
  Vec sum = 0.0f;
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    const Vec shifted = fma(Vec::load(x + i), inverse, kRound);
    store_low_bytes(value + i, bits_of(shifted));
    sum = sum + (shifted - kRound);
  }
  // The sum of a block's integers is exact in f32, because its magnitude is at most 64 * 127. Its
  // conversion to an integer is exact, too. A NaN or an infinity in x makes the sum NaN. Then the
  // scale becomes NaN, so that every product of this block becomes NaN.
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
