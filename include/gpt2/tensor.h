#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace gpt2 {

/// The sizes of a tensor's dimensions, outermost first. {} is a scalar.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::size_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  [[nodiscard]] std::size_t rank() const noexcept { return sizes_.size(); }
  [[nodiscard]] std::size_t operator[](std::size_t dimension) const { return sizes_[dimension]; }
  [[nodiscard]] std::span<const std::size_t> sizes() const noexcept { return sizes_; }

  /// The product of the sizes. Throws Error(invalid_argument) where it overflows.
  [[nodiscard]] std::size_t element_count() const;

  /// "[2, 3]"
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::size_t> sizes_;
};

/// A dense row-major array of floats that owns its elements.
class Tensor {
 public:
  Tensor() = default;

  /// Filled with `value`. Throws Error(invalid_argument) where no memory could hold the elements,
  /// std::bad_alloc where this one does not.
  explicit Tensor(Shape shape, float value = 0.0f);

  /// Throws Error(invalid_argument) unless there are exactly shape.element_count() values.
  Tensor(Shape shape, std::vector<float> values);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] float* data() noexcept { return values_.data(); }
  [[nodiscard]] const float* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::span<float> values() noexcept { return values_; }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

 private:
  Shape shape_;
  std::vector<float> values_;
};

}  // namespace gpt2
