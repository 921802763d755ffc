#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpt2 {

/// The sizes of a tensor's dimensions, outermost first. Shape{} is that of a scalar, which has one
/// element.
///
/// Example:
///   const Shape shape{2, 3};
///   const std::size_t count = shape.element_count();  // 6
///   const std::string text = shape.to_string();       // "[2, 3]"
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::size_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  /// The number of dimensions.
  [[nodiscard]] std::size_t rank() const noexcept { return sizes_.size(); }

  /// The size of one dimension. REQUIRES: dimension < rank().
  [[nodiscard]] std::size_t operator[](std::size_t dimension) const { return sizes_[dimension]; }

  [[nodiscard]] std::span<const std::size_t> sizes() const noexcept { return sizes_; }

  /// The product of the sizes: 1 for a scalar. Throws Error(invalid_argument) if it overflows.
  [[nodiscard]] std::size_t element_count() const;

  /// The sizes in square brackets, for messages: "[2, 3]".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::size_t> sizes_;
};

/// A dense row-major array of floats that owns its elements: element [i, j] of a tensor of shape
/// [m, n] is values()[i * n + j]. A copy copies the elements. A default Tensor has no elements.
///
/// Threads may read one at the same time.
///
/// Example:
///   Tensor x(Shape{4, 768}, 0.5f);  // four rows of 768 times 0.5
///   x.values()[768] = 1.0f;         // the first element of the second row
class Tensor {
 public:
  Tensor() = default;

  /// A tensor of that shape whose elements are all `value`. Throws Error(invalid_argument) if the
  /// shape has more elements than memory can have, and std::bad_alloc.
  explicit Tensor(Shape shape, float value = 0.0f);

  /// Takes over the values, in row-major order. Throws Error(invalid_argument), which names both
  /// numbers, unless there are exactly shape.element_count() of them.
  Tensor(Shape shape, std::vector<float> values);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  /// The elements. Pointers and spans stay valid until the tensor is assigned to, moved or
  /// destroyed.
  [[nodiscard]] float* data() noexcept { return values_.data(); }
  [[nodiscard]] const float* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::span<float> values() noexcept { return values_; }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

 private:
  Shape shape_;
  std::vector<float> values_;
};

}  // namespace gpt2
