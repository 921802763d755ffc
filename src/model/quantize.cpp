#include "model/quantize.h"

#include <algorithm>
#include <cstring>

#include "base/float16.h"
#include "kernels/kernels.h"

namespace gpt2 {

// These values are fitted to blocks of 32 normal, Laplace and Student-t variables. The fit
// alternates between the best scales and codes for the values, and the best values for the scales
// and codes (Lloyd's algorithm). The squared error is 0.0058 of the variance; 16 equal steps leave
// 0.0079. The values are not symmetric, because the sign of the scale is free.
const std::int8_t kInt4Codebook[16] = {-127, -97, -74, -57, -43, -30, -19, -8,
                                       1,    11,  21,  33,  46,  61,  79,  102};

namespace {

constexpr float kMaxF16 = 65504.0f;
constexpr std::uint16_t kNanF16 = 0x7e00;

/// weight[k][column] = the weights of one block of one panel. Elements outside the matrix are zero.
template <std::size_t kBlock>
void read_block(float (&weight)[kBlock][kPanel], const StoredMatrix& w, std::size_t panel,
                std::size_t block) {
  const std::size_t n_begin = panel * kPanel;
  const std::size_t k_begin = block * kBlock;
  const std::size_t columns = std::min(kPanel, w.n - n_begin);
  const std::size_t depth = std::min(kBlock, w.k - k_begin);
  if (columns < kPanel || depth < kBlock) std::memset(weight, 0, sizeof weight);
  const auto at = [&](std::size_t index) { return w.data + index * w.element_size; };
  if (w.k_major) {
    for (std::size_t k = 0; k < depth; ++k) {
      w.widen(weight[k], at((k_begin + k) * w.n + n_begin), columns);
    }
    return;
  }
  for (std::size_t n = 0; n < columns; ++n) {
    float column[kBlock];
    w.widen(column, at((n_begin + n) * w.k + k_begin), depth);
    for (std::size_t k = 0; k < depth; ++k) weight[k][n] = column[k];
  }
}

/// Return the index of the byte that contains the code of (k, column), among the codes of a block.
/// For int4, a byte contains two codes, and int4_shift(k) is the position of the code in it. See
/// kernels.h.
constexpr std::size_t int8_index(std::size_t k, std::size_t column) {
  return k / 4 * kPanel * 4 + column * 4 + k % 4;
}
constexpr std::size_t int4_index(std::size_t k, std::size_t column) {
  return k / 8 * kPanel * 4 + column * 4 + k % 4;
}
constexpr unsigned int4_shift(std::size_t k) { return k % 8 < 4 ? 0 : 4; }

float load_scale(const std::byte* block, std::size_t column) {
  std::uint16_t bits;
  std::memcpy(&bits, block + column * 2, 2);
  return from_f16(bits);
}

/// Rounds the scales to f16 and stores them in `block`.
///
/// If a weight is NaN or infinite, stores NaN as the scale of its column. Every product with the
/// block is then NaN in this column, so that the damage stays visible.
template <std::size_t kBlock>
void store_scales(std::byte* block, float (&scale)[kPanel], const float (&w)[kBlock][kPanel]) {
  float zero[kPanel] = {};  // NaN if a weight is NaN or infinite
  for (const auto& row : w) {
    for (std::size_t n = 0; n < kPanel; ++n) zero[n] += 0.0f * row[n];
  }
  std::uint16_t bits[kPanel];
  for (std::size_t n = 0; n < kPanel; ++n) {
    const std::uint16_t rounded = to_f16(std::clamp(scale[n], -kMaxF16, kMaxF16));
    scale[n] = from_f16(rounded);
    bits[n] = zero[n] == 0.0f ? rounded : kNanF16;
  }
  std::memcpy(block, bits, sizeof bits);
}

template <std::size_t kBlock>
void quantize(std::byte* at, const StoredMatrix& w, std::size_t panel, std::size_t block,
          Kernels::FitKernel fit, Kernels::EncodeKernel encode) {
  float weight[kBlock][kPanel];
  read_block(weight, w, panel, block);
  float scale[kPanel];
  fit(scale, weight[0]);
  store_scales(at, scale, weight);
  encode(reinterpret_cast<std::uint8_t*>(at + 2 * kPanel), weight[0], scale);
}

template <std::size_t kBlock, class Decode>
void dequantize(float* y, const std::byte* quantized, std::size_t k, std::size_t column,
            std::size_t block_bytes, const Decode& decode) {
  quantized += column / kPanel * ceil_div(k, kBlock) * block_bytes;
  column %= kPanel;
  for (std::size_t i = 0; i < k; ++i) {
    const std::byte* const block = quantized + i / kBlock * block_bytes;
    const int value = decode(block + 2 * kPanel, i % kBlock, column);
    y[i] = load_scale(block, column) * static_cast<float>(value);
  }
}

}  // namespace

void quantize_int8(std::byte* quantized, const StoredMatrix& w, std::size_t panel,
                   std::size_t block) {
  std::byte* const at = quantized + (panel * ceil_div(w.k, kInt8Block) + block) * kInt8BlockBytes;
  quantize<kInt8Block>(at, w, panel, block, kernels().fit_int8, kernels().encode_int8);
}

void quantize_int4(std::byte* quantized, const StoredMatrix& w, std::size_t panel,
                   std::size_t block) {
  std::byte* const at = quantized + (panel * ceil_div(w.k, kInt4Block) + block) * kInt4BlockBytes;
  quantize<kInt4Block>(at, w, panel, block, kernels().fit_int4, kernels().encode_int4);
}

void dequantize_int8(float* y, const std::byte* quantized, std::size_t k, std::size_t column) {
  dequantize<kInt8Block>(y, quantized, k, column, kInt8BlockBytes,
                         [](const std::byte* codes, std::size_t i, std::size_t n) {
                           return static_cast<int>(codes[int8_index(i, n)]) - 128;
                         });
}

void dequantize_int4(float* y, const std::byte* quantized, std::size_t k, std::size_t column) {
  dequantize<kInt4Block>(y, quantized, k, column, kInt4BlockBytes,
                         [](const std::byte* codes, std::size_t i, std::size_t n) {
                           const auto byte = static_cast<unsigned>(codes[int4_index(i, n)]);
                           return static_cast<int>(kInt4Codebook[byte >> int4_shift(i) & 15]);
                         });
}

}  // namespace gpt2
