#pragma once

#include <cstddef>

namespace gpt2 {

/// A view of rows of floats, which it does not own. The rows begin `stride` floats apart, and
/// cols <= stride. T is float or const float.
template <class T>
struct BasicMatrix {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  [[nodiscard]] T* row(std::size_t i) const noexcept { return data + i * stride; }

  /// Returns a view of the first `count` rows.
  [[nodiscard]] BasicMatrix top(std::size_t count) const noexcept {
    return {data, count, cols, stride};
  }

  operator BasicMatrix<const T>() const noexcept { return {data, rows, cols, stride}; }
};

using Matrix = BasicMatrix<float>;
using ConstMatrix = BasicMatrix<const float>;

}  // namespace gpt2
