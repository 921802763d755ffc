#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

// Arithmetic on vectors for the descriptions of a pass. Sums are computed in double, in the order
// of the elements, so that they have the same bits on every machine.

namespace gpt2 {

/// REQUIRES: a and b have the same size.
template <class B>
[[nodiscard]] double dot(std::span<const float> a, std::span<const B> b) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

/// The Euclidean norm.
[[nodiscard]] inline double norm_of(std::span<const float> x) noexcept {
  return std::sqrt(dot(x, x));
}

/// Returns the indices of the `count` values that are largest in magnitude, or of all if there are
/// fewer. If two are equal, the lower index comes first. NaN counts as 0.
[[nodiscard]] inline std::vector<std::size_t> largest(std::span<const float> values,
                                                      std::size_t count) {
  const auto magnitude = [values](std::size_t i) {
    return std::isnan(values[i]) ? 0.0f : std::abs(values[i]);
  };
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return magnitude(a) > magnitude(b) || (magnitude(a) == magnitude(b) && a < b);
  });
  order.resize(count);
  return order;
}

}  // namespace gpt2
