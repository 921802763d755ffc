#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Shapes, and arrays of floats with a shape. LayerNorm takes and returns them. They are small value
// types, not a library for computing with tensors.

namespace [[gnu::visibility("default")]] gpt2 {

/// The sizes of a tensor's dimensions, outermost first. Shape{} is the shape of a scalar, which has
/// one element. A dimension may have size 0; the tensor then has no elements. The number of
/// dimensions is not limited.
///
/// A plain value: copies are independent, and threads may read one at the same time.
///
/// Example:
///   const Shape shape{2, 3};
///   const std::size_t count = shape.element_count();  // 6
///   const std::string text = shape.to_string();       // "[2, 3]"
class Shape {
 public:
  /// The shape of a scalar.
  Shape() = default;

  /// The shape with these sizes. Throws std::bad_alloc. Sizes whose product overflows are accepted
  /// here; element_count() refuses them.
  Shape(std::initializer_list<std::size_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  /// The number of dimensions.
  [[nodiscard]] std::size_t rank() const noexcept { return sizes_.size(); }

  /// The size of one dimension. REQUIRES: dimension < rank().
  [[nodiscard]] std::size_t operator[](std::size_t dimension) const { return sizes_[dimension]; }

  /// All sizes. The span is valid until the shape is assigned to or destroyed.
  [[nodiscard]] std::span<const std::size_t> sizes() const noexcept { return sizes_; }

  /// The product of the sizes: 1 for a scalar. Throws Error(invalid_argument) if it overflows.
  [[nodiscard]] std::size_t element_count() const;

  /// The sizes in square brackets, for messages: "[2, 3]".
  /// The shape of a scalar is "[]".
  [[nodiscard]] std::string to_string() const;

  /// Two shapes are equal if they have the same sizes in the same order.
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::size_t> sizes_;
};

/// A dense row-major array of floats that owns its elements: element [i, j] of a tensor of shape
/// [m, n] is values()[i * n + j]. A copy copies the elements.
///
/// Threads may read one at the same time; while a thread changes elements, no other thread may use
/// the tensor. LayerNorm takes and returns Tensors. The transformer itself computes in memory of
/// its engine and does not use them.
///
/// Cost: one allocation of 4 bytes for each element, and one for the shape.
///
/// Example:
///   Tensor x(Shape{4, 768}, 0.5f);  // four rows of 768 times 0.5
///   x.values()[768] = 1.0f;         // the first element of the second row
class Tensor {
 public:
  /// A tensor without elements, which means "none", for example for the weight of a LayerNorm.
  Tensor() = default;

  /// A tensor of that shape whose elements are all `value`. Throws Error(invalid_argument) if the
  /// elements could not fit in any address space, and std::bad_alloc if there is not enough memory.
  explicit Tensor(Shape shape, float value = 0.0f);

  /// Takes over the values, in row-major order, without copying them. Throws
  /// Error(invalid_argument), which names both numbers, unless there are exactly
  /// shape.element_count() of them.
  ///
  /// Example:
  ///   const Tensor y(Shape{2, 2}, std::vector<float>{1, 2, 3, 4});  // rows (1, 2) and (3, 4)
  Tensor(Shape shape, std::vector<float> values);

  /// The shape that the tensor was made with.
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// The number of elements: shape().element_count(), but 0 for a default tensor.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  /// The elements, in row-major order. Pointers and spans stay valid until the tensor is assigned
  /// to, moved or destroyed. Give a temporary a name before you loop over its elements: C++20
  /// destroys it before `for (float f : ln(x).values())` reads the first one.
  [[nodiscard]] float* data() noexcept { return values_.data(); }
  [[nodiscard]] const float* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::span<float> values() noexcept { return values_; }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

 private:
  Shape shape_;
  std::vector<float> values_;
};

}  // namespace gpt2
