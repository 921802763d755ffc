#pragma once

#include <cstddef>

#include "gpt2/tensor.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Layer normalization, with the names and semantics of torch.nn.LayerNorm (Ba, Kiros, Hinton 2016,
/// https://arxiv.org/abs/1607.06450):
///
///   y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias
///
/// mean and var are taken over the trailing dimensions, which are `normalized_shape`, separately
/// for each index of the leading dimensions. var is biased: the mean squared deviation, divided by
/// the number of elements.
///
/// Everything is computed in f64 and rounded to f32 once. So each element is the exact result,
/// rounded, unless that lies nearer to the middle between two floats than
///
///   (n / 5 + 20) 2^-53 (|weight| (1 + |z|) + |bias|)
///
/// where n is the number of elements and z the normalized one, before weight and bias. For rows of
/// 768 this is about a millionth of a unit in the last place, if weight and bias do not cancel each
/// other. It holds for all finite numbers, however wide, far from 0 or uneven a row is. A row of
/// equal numbers becomes the bias, and one with infinity or NaN becomes NaN.
///
/// The result for a row depends only on that row, and has the same bits on every machine, whatever
/// the floating-point mode of the calling thread. Several threads may use one object at the same
/// time, as long as none of them changes weight or bias.
///
/// Example:
///   LayerNorm ln({768});                     // weight 1, bias 0
///   const Tensor x(Shape{2, 10, 768}, 3.0f);  // [batch, tokens, channels]
///   const Tensor y = ln(x);                  // of the same shape
class LayerNorm {
 public:
  /// Sets weight to ones and bias to zeros; without elementwise_affine both are Tensor(), and the
  /// result is not scaled or shifted. Throws Error(invalid_argument) for an empty shape, a
  /// dimension of size zero, and an eps that is negative or not finite; Error(unsupported) for an
  /// unusable GPT2_ISA.
  explicit LayerNorm(Shape normalized_shape, float eps = 1e-5f, bool elementwise_affine = true);

  /// Returns the normalized x, in a tensor of the same shape. Throws Error(invalid_argument), which
  /// names both shapes, unless x's shape ends in normalized_shape and weight and bias have their
  /// shape.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  /// The same for `rows` consecutive rows, without checks and without allocating. Each row has as
  /// many floats as normalized_shape has elements. y may be x. Writing is up to three times as fast
  /// if the rows of y begin on 64-byte boundaries.
  ///
  /// REQUIRES: weight and bias have their shape; y and x have room for the rows, and are either the
  /// same or do not overlap.
  void forward(float* y, const float* x, std::size_t rows) const noexcept;

  [[nodiscard]] const Shape& normalized_shape() const noexcept { return normalized_shape_; }
  [[nodiscard]] float eps() const noexcept { return eps_; }
  [[nodiscard]] bool elementwise_affine() const noexcept { return elementwise_affine_; }

  Tensor weight;  ///< (normalized_shape), or Tensor() for no scale
  Tensor bias;    ///< (normalized_shape), or Tensor() for no shift

 private:
  Shape normalized_shape_;
  float eps_;
  bool elementwise_affine_;
};

}  // namespace gpt2
