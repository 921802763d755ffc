#pragma once

#include <concepts>
#include <optional>
#include <span>

namespace gpt2 {

/// a * b, or nothing where the product does not fit T.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_multiply(T a, T b) noexcept {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The product of all factors, multiplied from the left; nothing where any step does not fit, even
/// if a later factor is zero. 1 for no factors.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_product(std::span<const T> factors) noexcept {
  std::optional<T> product = T{1};
  for (const T factor : factors) {
    product = checked_multiply(*product, factor);
    if (!product) break;
  }
  return product;
}

}  // namespace gpt2
