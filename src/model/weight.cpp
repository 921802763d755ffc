#include "model/weight.h"

#include <algorithm>
#include <cstring>

#include "tensor/float16.h"

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
void read_block(float (&weight)[kBlock][kPanel], const Weight& w, std::size_t panel,
                std::size_t block) {
  const std::size_t n_begin = panel * kPanel;
  const std::size_t k_begin = block * kBlock;
  const std::size_t columns = std::min(kPanel, w.n - n_begin);
  const std::size_t depth = std::min(kBlock, w.k - k_begin);
  if (columns < kPanel || depth < kBlock) std::memset(weight, 0, sizeof weight);
  const auto kernel = widen_kernel(*w.float_type());
  const std::size_t bytes = element_bytes(*w.float_type());
  const auto widen = [&](float* to, std::size_t index, std::size_t count) {
    kernel(to, w.data + index * bytes, count);
  };
  if (w.layout == Weight::Layout::kn) {
    for (std::size_t k = 0; k < depth; ++k) {
      widen(weight[k], (k_begin + k) * w.n + n_begin, columns);
    }
    return;
  }
  for (std::size_t n = 0; n < columns; ++n) {
    float column[kBlock];
    widen(column, (n_begin + n) * w.k + k_begin, depth);
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
void quantize(std::byte* at, const Weight& w, std::size_t panel, std::size_t block,
              Kernels::FitKernel fit, Kernels::EncodeKernel encode) {
  float weight[kBlock][kPanel];
  read_block(weight, w, panel, block);
  float scale[kPanel];
  fit(scale, weight[0]);
  store_scales(at, scale, weight);
  encode(reinterpret_cast<std::uint8_t*>(at + 2 * kPanel), weight[0], scale);
}

// y[0 ... k) = the weights of output column `column` of a quantized matrix.
void dequantize(float* y, const Weight& w, std::size_t column) {
  const std::size_t size = w.block();
  const std::byte* block = w.data + column / kPanel * ceil_div(w.k, size) * w.block_bytes();
  column %= kPanel;
  for (std::size_t begin = 0; begin < w.k; begin += size, block += w.block_bytes()) {
    const std::byte* const codes = block + 2 * kPanel;
    const float scale = load_scale(block, column);
    for (std::size_t i = 0; i < std::min(size, w.k - begin); ++i) {
      const bool is_int8 = w.type == WeightType::int8;
      const auto code = static_cast<int>(codes[(is_int8 ? int8_index : int4_index)(i, column)]);
      y[begin + i] = scale * static_cast<float>(
                                 is_int8 ? code - 128 : kInt4Codebook[code >> int4_shift(i) & 15]);
    }
  }
}

}  // namespace

std::size_t element_bytes(FloatType type) noexcept { return type == FloatType::f32 ? 4 : 2; }

decltype(Kernels::widen_f32) widen_kernel(FloatType type) noexcept {
  const Kernels& k = kernels();
  return by_type(type, k.widen_f32, k.widen_f16, k.widen_bf16);
}

std::optional<FloatType> float_type_of(WeightType type) noexcept {
  switch (type) {
    case WeightType::f32: return FloatType::f32;
    case WeightType::f16: return FloatType::f16;
    case WeightType::bf16: return FloatType::bf16;
    case WeightType::stored:
    case WeightType::int8:
    case WeightType::int4: break;
  }
  return std::nullopt;
}

std::optional<FloatType> float_type_of(DType type) noexcept {
  if (type == DType::f32) return FloatType::f32;
  if (type == DType::f16) return FloatType::f16;
  return type == DType::bf16 ? std::optional(FloatType::bf16) : std::nullopt;
}

std::size_t Weight::bytes() const noexcept {
  if (is_quantized()) return ceil_div(n, kPanel) * ceil_div(k, block()) * block_bytes();
  const auto floats = float_type();
  return floats ? size() * element_bytes(*floats) : 0;
}

Shape Weight::shape() const {
  if (is_quantized()) return {ceil_div(n, kPanel), ceil_div(k, block()), block_bytes()};
  return layout == Layout::kn ? Shape{k, n} : Shape{n, k};
}

void Weight::read_row(float* y, std::size_t feature) const noexcept {
  if (const auto floats = float_type()) {
    return widen_kernel(*floats)(y, data + feature * k * element_bytes(*floats), k);
  }
  dequantize(y, *this, feature);
}

Weight Weight::columns(std::size_t begin, std::size_t end) const noexcept {
  Weight part = *this;
  part.n = begin;  // so that bytes() returns the size of the columns before `begin`
  const std::size_t skipped = part.bytes();
  part.data = data + skipped;
  part.n = end - begin;
  return part;
}

void quantize_block(std::byte* quantized, WeightType type, const Weight& w, std::size_t panel,
                    std::size_t block) {
  const Weight to = {.type = type};
  std::byte* const at = quantized + (panel * ceil_div(w.k, to.block()) + block) * to.block_bytes();
  const Kernels& k = kernels();
  if (type == WeightType::int8) {
    quantize<kInt8Block>(at, w, panel, block, k.fit_int8, k.encode_int8);
  } else {
    quantize<kInt4Block>(at, w, panel, block, k.fit_int4, k.encode_int4);
  }
}

}  // namespace gpt2
