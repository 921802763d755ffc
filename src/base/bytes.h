#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace gpt2 {

using Bytes = std::span<const std::byte>;

// Tensors are used in place, as they lie in a mapped file, and all supported file formats are
// little-endian.
static_assert(
    std::endian::native == std::endian::little,
    "gpt2.cpp supports little-endian machines only: it uses weights as they lie in files");

[[nodiscard]] inline std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline Bytes bytes_of_text(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Returns the little-endian integer in the sizeof(T) bytes that begin at `at`. REQUIRES: they lie
/// in `bytes`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T load_little_endian(Bytes bytes, std::size_t at = 0) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | std::to_integer<T>(bytes[at + i]) << (8 * i));
  }
  return value;
}

}  // namespace gpt2
