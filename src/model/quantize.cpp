#include "model/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

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

/// weight[column][k] = the weights of one block of one panel. Past the matrix they are zero.
template <std::size_t kBlock>
void read_block(float (&weight)[kPanel][kBlock], const StoredMatrix& w, std::size_t panel,
                std::size_t k_begin) {
  std::memset(weight, 0, sizeof weight);
  const std::size_t n_begin = panel * kPanel;
  const std::size_t columns = std::min(kPanel, w.n - n_begin);
  const std::size_t depth = std::min(kBlock, w.k - k_begin);
  const auto at = [&](std::size_t index) { return w.data + index * w.element_size; };
  if (!w.k_major) {
    for (std::size_t n = 0; n < columns; ++n) {
      w.widen(weight[n], at((n_begin + n) * w.k + k_begin), depth);
    }
    return;
  }
  for (std::size_t k = 0; k < depth; ++k) {
    float row[kPanel];
    w.widen(row, at((k_begin + k) * w.n + n_begin), columns);
    for (std::size_t n = 0; n < columns; ++n) weight[n][k] = row[n];
  }
}

float rounded_to_f16(float scale) {
  return from_f16(to_f16(std::clamp(scale, -kMaxF16, kMaxF16)));
}

/// The index of the byte, among the codes of a block, that has the code of (k, column). For int4
/// the byte has two codes, and int4_shift(k) tells which nibble is meant. See kernels.h.
constexpr std::size_t int8_index(std::size_t k, std::size_t column) {
  return k / 4 * kPanel * 4 + column * 4 + k % 4;
}
constexpr std::size_t int4_index(std::size_t k, std::size_t column) {
  return k / 8 * kPanel * 4 + column * 4 + k % 4;
}
constexpr unsigned int4_shift(std::size_t k) { return k % 8 < 4 ? 0 : 4; }

void store_scale(std::byte* block, std::size_t column, float scale) {
  const std::uint16_t bits = to_f16(scale);
  std::memcpy(block + column * 2, &bits, 2);
}

float load_scale(const std::byte* block, std::size_t column) {
  std::uint16_t bits;
  std::memcpy(&bits, block + column * 2, 2);
  return from_f16(bits);
}

void encode_int8(std::byte* block, const float (&w)[kInt8Block], std::size_t column) {
  float largest = 0.0f;
  for (const float value : w) largest = std::max(largest, std::abs(value));
  const float scale = rounded_to_f16(largest / 127.0f);
  const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
  store_scale(block, column, scale);
  for (std::size_t k = 0; k < kInt8Block; ++k) {
    const float code = w[k] * inverse;
    const float limited = code > -127.0f ? std::min(code, 127.0f) : -127.0f;  // -127 if NaN
    constexpr float kRound = 0x1.8p23f;  // adding 1.5 * 2^23 rounds to an integer, ties to even
    const auto rounded = static_cast<int>(limited + kRound - kRound);
    block[2 * kPanel + int8_index(k, column)] = static_cast<std::byte>(rounded + 128);
  }
}

using Codes = std::array<std::int32_t, kInt4Block>;

/// Returns the codes whose values are nearest to w / scale. A code is the number of borders between
/// neighbouring values that lie below.
Codes nearest_codes(const float (&w)[kInt4Block], float scale) {
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  Codes codes = {};
  for (int i = 1; i < 16; ++i) {
    const float border = 0.5f * static_cast<float>(kInt4Codebook[i - 1] + kInt4Codebook[i]);
    for (std::size_t k = 0; k < kInt4Block; ++k) codes[k] += w[k] * inverse > border;
  }
  return codes;
}

/// The scale that fits given codes best, sum(w c) / sum(c c), where c are the values of the codes;
/// and the gain, sum(w c)^2 / sum(c c), by which it lowers the squared error.
struct Fit {
  float scale = 0.0f;
  float gain = 0.0f;
};

Fit fit_scale(const float (&w)[kInt4Block], const Codes& codes) {
  float product = 0.0f;
  std::int32_t square = 0;
  for (std::size_t k = 0; k < kInt4Block; ++k) {
    const std::int32_t value = kInt4Codebook[codes[k]];
    product += w[k] * static_cast<float>(value);
    square += value * value;
  }
  const float scale = product / static_cast<float>(square);
  return {scale, scale * product};
}

void encode_int4(std::byte* block, const float (&w)[kInt4Block], std::size_t column) {
  // The weight of the largest magnitude should lie near one end of the codebook. This tries both
  // ends, and at each end a place a little inside (0.95) and two outside (1.03, 1.12), where the
  // weight is cut off and the others have finer steps. How these three factors were found is not
  // recorded; each costs one pass over the block for each end.
  const auto [low, high] = std::minmax_element(w, w + kInt4Block);
  const float extreme = -*low > *high ? *low : *high;
  Fit best;
  for (const float end :
       {static_cast<float>(kInt4Codebook[0]), static_cast<float>(kInt4Codebook[15])}) {
    for (const float stretch : {0.95f, 1.03f, 1.12f}) {
      const Fit fit = fit_scale(w, nearest_codes(w, extreme / (end * stretch)));
      if (fit.gain > best.gain) best = fit;
    }
  }
  const float scale = rounded_to_f16(best.scale);
  const Codes codes = nearest_codes(w, scale);
  store_scale(block, column, scale);
  for (std::size_t k = 0; k < kInt4Block; ++k) {
    block[2 * kPanel + int4_index(k, column)] |= static_cast<std::byte>(codes[k] << int4_shift(k));
  }
}

template <std::size_t kBlock, class Encode>
void pack(std::byte* quantized, const StoredMatrix& w, std::size_t panel, std::size_t block_bytes,
          const Encode& encode) {
  const std::size_t blocks = ceil_div(w.k, kBlock);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::byte* const at = quantized + (panel * blocks + b) * block_bytes;
    float weight[kPanel][kBlock];
    read_block(weight, w, panel, b * kBlock);
    std::memset(at, 0, block_bytes);
    for (std::size_t column = 0; column < kPanel; ++column) {
      encode(at, weight[column], column);
      // Damage must stay visible: a NaN or infinite weight turns every product with its block into
      // NaN.
      if (!std::ranges::all_of(weight[column], [](float x) { return std::isfinite(x); })) {
        store_scale(at, column, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
}

template <std::size_t kBlock, class Decode>
void unpack(float* y, const std::byte* quantized, std::size_t k, std::size_t column,
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

void quantize_int8(std::byte* quantized, const StoredMatrix& w, std::size_t panel) {
  pack<kInt8Block>(quantized, w, panel, kInt8BlockBytes, encode_int8);
}

void quantize_int4(std::byte* quantized, const StoredMatrix& w, std::size_t panel) {
  pack<kInt4Block>(quantized, w, panel, kInt4BlockBytes, encode_int4);
}

void dequantize_int8(float* y, const std::byte* quantized, std::size_t k, std::size_t column) {
  unpack<kInt8Block>(y, quantized, k, column, kInt8BlockBytes,
                     [](const std::byte* codes, std::size_t i, std::size_t n) {
                       return static_cast<int>(codes[int8_index(i, n)]) - 128;
                     });
}

void dequantize_int4(float* y, const std::byte* quantized, std::size_t k, std::size_t column) {
  unpack<kInt4Block>(y, quantized, k, column, kInt4BlockBytes,
                     [](const std::byte* codes, std::size_t i, std::size_t n) {
                       const auto byte = static_cast<unsigned>(codes[int4_index(i, n)]);
                       return static_cast<int>(kInt4Codebook[byte >> int4_shift(i) & 15]);
                     });
}

}  // namespace gpt2
