#include "model/weight.h"

#include "model/quantize.h"

namespace gpt2 {

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
  (type == WeightType::int8 ? dequantize_int8 : dequantize_int4)(y, data, k, feature);
}

Weight Weight::columns(std::size_t begin, std::size_t end) const noexcept {
  Weight part = *this;
  part.n = begin;  // so that bytes() returns the size of the columns before `begin`
  const std::size_t skipped = part.bytes();
  part.data = data + skipped;
  part.n = end - begin;
  return part;
}

}  // namespace gpt2
