#include "model/weight.h"

#include "kernels/pack.h"

namespace gpt2 {

std::size_t element_bytes(WeightType type) noexcept { return type == WeightType::f32 ? 4 : 2; }

decltype(Kernels::widen_f32) widen_kernel(WeightType type) noexcept {
  const Kernels& k = kernels();
  return by_type(type, k.widen_f32, k.widen_f16, k.widen_bf16);
}

std::size_t Weight::bytes() const noexcept {
  if (!is_packed()) return size() * element_bytes(type);
  return ceil_div(n, kPanel) * ceil_div(k, block()) * block_bytes();
}

Shape Weight::shape() const {
  if (is_packed()) return {ceil_div(n, kPanel), ceil_div(k, block()), block_bytes()};
  return layout == Layout::kn ? Shape{k, n} : Shape{n, k};
}

void Weight::read_row(float* y, std::size_t feature) const noexcept {
  switch (type) {
    case WeightType::int8: return unpack_int8(y, data, k, feature);
    case WeightType::int4: return unpack_int4(y, data, k, feature);
    default: return widen_kernel(type)(y, data + feature * k * element_bytes(type), k);
  }
}

Weight Weight::columns(std::size_t begin, std::size_t end) const noexcept {
  Weight part = *this;
  part.n = begin;  // what lies before them
  const std::size_t skipped = part.bytes();
  part.data = data + skipped;
  part.n = end - begin;
  return part;
}

}  // namespace gpt2
