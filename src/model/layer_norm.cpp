#include "gpt2/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fail.h"
#include "base/system/threads.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

void require_shape(const char* name, const Tensor& parameter, const Shape& expected) {
  const bool is_none = parameter.size() == 0 && parameter.shape().rank() == 0;
  if (is_none || parameter.shape() == expected) return;
  reject("LayerNorm: ", name, " has shape ", parameter.shape().to_string(),
         ", expected normalized_shape ", expected.to_string());
}

}  // namespace

LayerNorm::LayerNorm(Shape normalized_shape, float eps, bool elementwise_affine)
    : normalized_shape_(std::move(normalized_shape)),
      eps_(eps),
      elementwise_affine_(elementwise_affine) {
  require_isa();
  const DefaultFloatState state;
  if (normalized_shape_.rank() == 0 || normalized_shape_.element_count() == 0) {
    reject("LayerNorm: normalized_shape ", normalized_shape_.to_string(),
           " has no elements to normalize");
  }
  if (!(eps >= 0.0f) || !std::isfinite(eps)) {
    reject("LayerNorm: eps must be finite and not negative, got ", eps);
  }
  if (elementwise_affine_) {
    weight = Tensor(normalized_shape_, 1.0f);
    bias = Tensor(normalized_shape_, 0.0f);
  }
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  require_shape("weight", weight, normalized_shape_);
  require_shape("bias", bias, normalized_shape_);
  const auto wanted = normalized_shape_.sizes();
  const auto given = x.shape().sizes();
  if (given.size() < wanted.size() || !std::ranges::equal(given.last(wanted.size()), wanted)) {
    reject("LayerNorm: the input's shape ", x.shape().to_string(),
           " does not end in normalized_shape ", normalized_shape_.to_string());
  }
  Tensor y(x.shape());
  forward(y.data(), x.data(), x.size() / normalized_shape_.element_count());
  return y;
}

void LayerNorm::forward(float* y, const float* x, std::size_t rows) const noexcept {
  const DefaultFloatState state;
  const float* const scale = weight.size() > 0 ? weight.data() : nullptr;
  const float* const shift = bias.size() > 0 ? bias.data() : nullptr;
  // element_count() does not throw, because the constructor has called it before.
  const std::size_t n = normalized_shape_.element_count();
  norm_kernels().layer_norm(y, x, scale, shift, rows, n, eps_);
}

}  // namespace gpt2
