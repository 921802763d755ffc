#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace gpt2 {

/// Returns the product of all factors and `last`, multiplied from left to right. Returns nothing if
/// any of these multiplications overflows, even if a later factor is zero.
[[nodiscard]] constexpr std::optional<std::size_t> checked_product(
    std::span<const std::size_t> factors, std::size_t last = 1) noexcept {
  std::size_t product = 1;
  for (const std::size_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  if (__builtin_mul_overflow(product, last, &product)) return std::nullopt;
  return product;
}

}  // namespace gpt2
