#pragma once

#include <concepts>
#include <cstddef>

namespace gpt2 {

/// The integer in the sizeof(T) bytes at `bytes`, least significant first, at any alignment.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T load_little_endian(const std::byte* bytes) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | std::to_integer<T>(bytes[i]) << (8 * i));
  }
  return value;
}

}  // namespace gpt2
