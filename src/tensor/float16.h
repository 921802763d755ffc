#pragma once

#include <bit>
#include <cstdint>

namespace gpt2 {

// Scalar conversions between f32 and the 16-bit formats. Conversions to 16 bits round to nearest,
// ties to even; NaN stays NaN, and values that are too large become infinity.

inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(bits * 0x10000u); }

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} << 16 & 0x80000000;
  const std::uint32_t magnitude = bits & 0x7fff;
  // The exponent biases of f32 and f16 differ by 112, so the shifted bits are 2^-112 of the value.
  // The multiplication converts subnormals correctly, which adding 112 to the exponent would not.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const auto result = std::bit_cast<std::uint32_t>(scaled);
  const std::uint32_t special = magnitude >= 0x7c00 ? 0x7f800000 : 0;  // infinity and NaN
  return std::bit_cast<float>(result | special | sign);
}

inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds beyond 65504
  if (magnitude < 0x38800000) {
    // The result is subnormal. Adding 0.5 moves its bits to the low end of the sum and rounds them.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000));
  }
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

}  // namespace gpt2
