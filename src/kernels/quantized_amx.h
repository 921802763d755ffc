#pragma once

#include <immintrin.h>

#include "kernels/quantized.h"

// Products of many quantized rows by AMX, whose instructions multiply tiles of bytes. One step
// multiplies kRowGroup rows of x, one block deep, with twice kLanes columns of weights. The sums
// are exact integers, so that the results are the same as without AMX. Intel SDM volume 1, chapter
// 18, describes the instructions.

namespace gpt2 {

// Products of fewer rows than this are faster without AMX, which needs the codes unpacked to signed
// bytes in memory. With few rows, the unpacked codes are not used often enough to make up for the
// unpacking. The measurement itself is not recorded.
inline constexpr std::size_t kAmxMinRows = 32;

// The codes of this many k are unpacked together. Those of one panel take 32 KiB and stay in the L1
// cache, which has 48 KiB in CPUs with AMX.
inline constexpr std::size_t kAmxDepth = 1024;

// These two load and store a tile whose rows are `stride` bytes apart. The compiler's own functions
// pass the stride as a long, which has only 32 bits on Windows, so that GCC 12 makes an instruction
// that does not exist.
template <int kTile>
[[gnu::always_inline]] inline void load_rows(const void* from, std::size_t stride) {
  __asm__ volatile("tileloadd\t(%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile));
}
template <int kTile>
[[gnu::always_inline]] inline void store_rows(void* to, std::size_t stride) {
  __asm__ volatile("tilestored\t%%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
}

/// Sets the shapes of the tile registers: 0 and 1 hold sums, 2 holds rows of x, 3 and 4 hold
/// weights.
template <class Vec>
void amx_configure(std::size_t block) {
  struct alignas(64) {
    std::uint8_t palette = 1;
    std::uint8_t reserved[15] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } config;
  for (std::size_t i = 0; i < 5; ++i) {
    config.row_bytes[i] = static_cast<std::uint16_t>(i == 2 ? block : 64);
    config.rows[i] = static_cast<std::uint8_t>(i < 3 ? kRowGroup : block / 4);
  }
  // GCC 12 believes that the next instruction reads only 8 bytes, and drops the stores to the rest.
  __asm__ volatile("" ::"r"(&config) : "memory");
  _tile_loadconfig(&config);
}

/// Multiplies one block of a group of rows of x with the same block of the columns of a panel. The
/// sums are then in the tile registers 0 and 1.
[[gnu::always_inline]] inline void amx_multiply(const std::int8_t* x, std::size_t block,
                                                const std::int8_t* w) {
  __asm__ volatile("" ::: "memory");  // GCC does not know that loads of tiles read memory
  load_rows<2>(x, block);
  load_rows<3>(w, 4 * kPanel);
  _tile_zero(0);
  _tile_dpbssd(0, 2, 3);
  load_rows<4>(w + 4 * kLanes, 4 * kPanel);
  _tile_zero(1);
  _tile_dpbssd(1, 2, 4);
}

[[gnu::always_inline]] inline void amx_store(std::int32_t (&sum)[2][kRowGroup * kLanes]) {
  store_rows<0>(sum[0], 4 * kLanes);
  store_rows<1>(sum[1], 4 * kLanes);
}

/// value[k / 4][column][k % 4] = the codes of a block of one panel, less 128, as signed bytes.
/// Calls fetch(part) for each part.
template <class Vec, class Codes, class Fetch>
void unpack_codes(std::int8_t* value, const unsigned char* block, const Fetch& fetch) {
  using Int = typename Vec::Integer;
  for (std::size_t part = 0; part < Codes::kBlock / 4; ++part, value += 4 * kPanel) {
    fetch(part);
    for (std::size_t column = 0; column < kPanel; column += kLanes) {
      const Int code = Codes::template load<Int>(block + 2 * kPanel, part, column);
      (code ^ 0x80808080u).store(value + column * 4);
    }
  }
}

/// sums (kRowGroup, kPanelColumns) += the group of rows from `row` on times the blocks [begin,
/// begin + blocks) of the columns of one panel. If begin is 0, the sums begin at zero. `w` has the
/// unpacked codes of these blocks. `scales` points to the quantized blocks, each of which begins
/// with its scales.
template <class Vec, class Codes>
void amx_tile(float* sums, const QuantizedRows& x, std::size_t row, std::size_t begin,
              std::size_t blocks, const std::int8_t* w, const unsigned char* scales) {
  using Int = typename Vec::Integer;
  Tile<Vec, kRowGroup, 2> total;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kRowGroup; ++i) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < 2; ++j) {
      float* const at = sums + i * kPanelColumns + j * kLanes;
      total.sum[i][j] = begin == 0 ? 0.0f : Vec::load(at);
    }
  }
  const std::size_t first = (row / kRowGroup * x.blocks + begin) * kRowGroup;
  alignas(64) std::int32_t sum[2][2][kRowGroup * kLanes];
  // Each iteration multiplies block b and scales the sums of block b - 1, so that the CPU can do
  // both at the same time.
  for (std::size_t b = 0; b <= blocks; ++b) {
    if (b < blocks) {
      const std::int8_t* const value = x.value + (first + b * kRowGroup) * Codes::kBlock;
      amx_multiply(value, Codes::kBlock, w + b * Codes::kBlock * kPanel);
      for (std::size_t i = 0; i < kRowGroup * Codes::kBlock; i += 64) {
        __builtin_prefetch(value + x.blocks * kRowGroup * Codes::kBlock + i);
      }
    }
    if (b > 0) {
      const float* const x_scale = x.scale + first + (b - 1) * kRowGroup;
      const auto* const w_scale =
          reinterpret_cast<const F16*>(scales + (b - 1) * Codes::kBlockBytes);
#pragma GCC unroll 2
      for (std::size_t j = 0; j < 2; ++j) {
        const Vec column_scale = Vec::load(w_scale + j * kLanes);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < kRowGroup; ++i) {
          const Vec product = to_float(Int::load(sum[(b - 1) % 2][j] + i * kLanes));
          total.sum[i][j] = fma(product, x_scale[i] * column_scale, total.sum[i][j]);
        }
      }
    }
    if (b < blocks) amx_store(sum[b % 2]);
  }
  total.store(sums, kPanelColumns, false);
}

template <class Vec, class Codes, QuantizedWalk kWalk>
void amx_matmul(const Matmul& product, const QuantizedRows& x, std::size_t n_begin,
                std::size_t n_end, float* scratch) noexcept {
  if (product.m < kAmxMinRows) {
    return quantized_matmul<Vec, Codes, kWalk>(product, x, n_begin, n_end, scratch);
  }
  amx_configure<Vec>(Codes::kBlock);
  constexpr std::size_t kSums = (kMaxRows + kRowGroup) * kPanelColumns;  // room for whole groups
  static_assert(kSums * sizeof(float) + kAmxDepth * kPanel <= kMatmulScratchBytes);
  auto* const unpacked = reinterpret_cast<std::int8_t*>(scratch + kSums);
  const std::size_t panel_bytes = x.blocks * Codes::kBlockBytes;
  constexpr std::size_t kMax = kAmxDepth / Codes::kBlock;
  for (std::size_t n = n_begin; n < n_end; n += kPanelColumns) {
    const std::size_t columns = min(kPanelColumns, n_end - n);
    const auto* const panels =
        static_cast<const unsigned char*>(product.w) + n / kPanel * panel_bytes;
    for (std::size_t begin = 0; begin < x.blocks; begin += kMax) {
      const std::size_t blocks = min(kMax, x.blocks - begin);
      for (std::size_t column = 0; column < columns; column += kPanel) {
        const unsigned char* const panel =
            panels + column / kPanel * panel_bytes + begin * Codes::kBlockBytes;
        for (std::size_t b = 0; b < blocks; ++b) {
          unpack_codes<Vec, Codes>(
              unpacked + b * Codes::kBlock * kPanel, panel + b * Codes::kBlockBytes,
              [&, step = column / kPanel * x.blocks + begin + b](std::size_t part) {
                fetch_panels<Codes>(panels + kPanels * panel_bytes, panel_bytes, step, part);
              });
        }
        for (std::size_t row = 0; row < product.m; row += kRowGroup) {
          amx_tile<Vec, Codes>(scratch + row * kPanelColumns + column, x, row, begin, blocks,
                               unpacked, panel);
        }
      }
    }
    finish<Vec>(product, 0, product.m, scratch, kPanelColumns, n, columns);
  }
  _tile_release();
}

/// Kernels::dot_limit with AMX.
template <class Vec>
float amx_dot_limit(std::size_t count) noexcept {
  amx_configure<Vec>(64);
  const std::int8_t ones[64 * kLanes] = {1};
  alignas(64) std::int32_t sum[2][kRowGroup * kLanes];
  load_rows<2>(ones, 64);
  load_rows<3>(ones, 64);
  _tile_zero(0);
  _tile_zero(1);
  for (std::size_t i = 0; i < count; i += 2 * kRowGroup * kLanes) {
    _tile_dpbssd(0, 2, 3);
    _tile_dpbssd(1, 2, 3);
  }
  amx_store(sum);
  _tile_release();
  return static_cast<float>(sum[0][0] + sum[1][0]);
}

}  // namespace gpt2
