#pragma once

#include <cstddef>

#include "gpt2/tensor.h"

namespace gpt2 {

/// Layer normalisation, with torch.nn.LayerNorm's words and meaning (Ba, Kiros, Hinton 2016,
/// https://arxiv.org/abs/1607.06450):
///
///   y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias
///
/// mean and var are taken over the trailing dimensions `normalized_shape`, separately for every
/// index of the leading ones. var is biased (divided by the number of elements), and computed in a
/// second pass over the deviations, so a large common offset does not cancel it away.
///
/// A row's result depends on that row alone, bit for bit. Immutable use is thread-safe.
///
///   gpt2::LayerNorm ln({768});
///   gpt2::Tensor y = ln(x);   // x: [768], [tokens, 768], [batch, tokens, 768] ...
class LayerNorm {
 public:
  /// weight is ones and bias zeros until assigned; without elementwise_affine both are Tensor().
  /// Throws Error(invalid_argument) for an empty shape, a zero dimension or an eps that is negative
  /// or not finite.
  explicit LayerNorm(Shape normalized_shape, float eps = 1e-5f, bool elementwise_affine = true);

  /// Throws Error(invalid_argument), naming both shapes, unless x's shape ends in normalized_shape,
  /// or if weight or bias were given another shape.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  /// The same over `rows` consecutive rows of normalized_shape's element count, without a check or
  /// an allocation. y may be x. Rows of y on 64-byte boundaries are up to three times as fast.
  void forward(float* y, const float* x, std::size_t rows) const noexcept;

  [[nodiscard]] const Shape& normalized_shape() const noexcept { return normalized_shape_; }
  [[nodiscard]] float eps() const noexcept { return eps_; }
  [[nodiscard]] bool elementwise_affine() const noexcept { return elementwise_affine_; }

  Tensor weight;  ///< normalized_shape; or Tensor(): no scale
  Tensor bias;    ///< normalized_shape; or Tensor(): no shift

 private:
  Shape normalized_shape_;
  float eps_;
  bool elementwise_affine_;
};

}  // namespace gpt2
