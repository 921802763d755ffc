#pragma once

#include "kernels/lanes.h"

// The scales and the codes of int8 and int4 weights, for one block of one panel. Each lane is a
// column.

namespace gpt2 {

/// Returns 1 / scale, or 0 for a scale of 0.
template <class Vec>
[[gnu::always_inline]] inline Vec inverse_of(Vec scale) {
  const Vec zero = 0.0f;
  return select_less(zero, max(scale, zero - scale), Vec(1.0f) / scale, zero);
}

template <class Vec>
void fit_int8(float* scale, const float* w) noexcept {
  for (std::size_t column = 0; column < kPanel; column += kLanes) {
    Vec largest = 0.0f;
    for (std::size_t k = 0; k < kInt8Block; ++k) {
      const Vec weight = Vec::load(w + k * kPanel + column);
      largest = max(from_bits(bits_of(weight) & 0x7fffffff), largest);
    }
    (largest / Vec(127.0f)).store(scale + column);
  }
}

template <class Vec>
void encode_int8(std::uint8_t* codes, const float* w, const float* scale) noexcept {
  using Int = typename Vec::Integer;
  for (std::size_t column = 0; column < kPanel; column += kLanes) {
    const Vec inverse = inverse_of(Vec::load(scale + column));
    for (std::size_t k = 0; k < kInt8Block; k += 4) {
      Int group = 0;
      for (std::size_t i = 4; i-- > 0;) {
        const Vec code = Vec::load(w + (k + i) * kPanel + column) * inverse;
        const Vec limited = min(max(code, -127.0f), 127.0f);  // -127 if NaN
        // Adding 1.5 * 2^23 rounds to an integer, ties to even, and leaves the integer in the low
        // bits of the sum.
        group = shift_left<8>(group) | (bits_of(limited + 0x1.8p23f) & 255);
      }
      // Codes are stored with 128 added, which flips the highest bit of each byte.
      (group ^ 0x80808080).store(codes + (k / 4 * kPanel + column) * 4);
    }
  }
}

template <class Vec>
struct Int4Codebook {
  Vec value;   ///< kInt4Codebook
  Vec border;  ///< between value i and value i + 1, halfway; infinity after the last value

  Int4Codebook() {
    float values[kLanes];
    float borders[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) values[i] = kInt4Codebook[i];
    for (std::size_t i = 0; i + 1 < kLanes; ++i) borders[i] = 0.5f * (values[i] + values[i + 1]);
    borders[kLanes - 1] = __builtin_inff();
    value = Vec::load(values);
    border = Vec::load(borders);
  }

  /// Returns the code of x in the low 4 bits of each lane: the number of borders below x, or 0 if x
  /// is NaN. The other bits have no meaning.
  ///
  /// At most one positive and one negative border have a magnitude in each of these ranges:
  ///   0 ... 10 ... 20 ... 30 ... 40 ... 60 ... 80 ... 100 ... 120
  /// Therefore the range in which |x| lies and the sign of x leave two codes, and one comparison
  /// decides between them. |x| / 5 + 8 maps the ranges to 8 ... 10 ... 12 ... 14 ... 16 ... 20 ...
  /// 24 ... 28 ... 32. All floats in one of these have the same exponent and the same two upper
  /// bits of the mantissa. All borders are at least 0.5 away from the ends of their ranges, so
  /// rounding errors do not matter.
  [[gnu::always_inline]] typename Vec::Integer code_of(Vec x) const {
    using Int = typename Vec::Integer;
    const Vec limited = min(max(x, -119.0f), 119.0f);  // -119 if NaN
    const Vec magnitude = from_bits(bits_of(limited) & 0x7fffffff);
    const Int range = shift_right<21>(bits_of(magnitude * 0.2f + 8.0f));  // low 4 bits: 8 ... 15
    const Int lower = range ^ shift_right<31>(bits_of(limited));          // 7 ... 0 if x < 0
    const Vec one = from_bits(Int(1));
    return lower + bits_of(select_less(lookup(border, lower), limited, one, Vec(0.0f)));
  }
};

template <class Vec>
void fit_int4(float* scale, const float* w) noexcept {
  // The weight of the largest magnitude should lie near one end of the codebook. This tries both
  // ends. At each end, it tries three places for the weight: one a little inside the end (0.95),
  // and two outside it (1.03, 1.12), where the weight is clipped but the other weights have finer
  // steps. How these factors were found is not recorded. Each factor costs one pass over the block
  // for each end.
  const float stretches[] = {0.95f, 1.03f, 1.12f};
  const Int4Codebook<Vec> codebook;
  for (std::size_t column = 0; column < kPanel; column += kLanes) {
    const float* const weights = w + column;
    Vec low = Vec::load(weights);
    Vec high = low;
    for (std::size_t k = 1; k < kInt4Block; ++k) {
      low = min(Vec::load(weights + k * kPanel), low);
      high = max(Vec::load(weights + k * kPanel), high);
    }
    const Vec extreme = select_less(high, Vec(0.0f) - low, low, high);
    Vec best_scale = 0.0f;
    Vec best_gain = 0.0f;
    for (std::size_t i = 0; i < 6; ++i) {
      const float end = kInt4Codebook[i < 3 ? 0 : 15];
      const Vec inverse = inverse_of(extreme / Vec(end * stretches[i % 3]));
      // The scale that fits the codes best is sum(w c) / sum(c c), where c are the values of the
      // codes. It lowers the squared error by sum(w c)^2 / sum(c c).
      Vec product = 0.0f;
      Vec square = 0.0f;
      for (std::size_t k = 0; k < kInt4Block; ++k) {
        const Vec weight = Vec::load(weights + k * kPanel);
        const Vec value = lookup(codebook.value, codebook.code_of(weight * inverse));
        product = product + weight * value;
        square = square + value * value;
      }
      const Vec fit = product / square;
      const Vec gain = fit * product;
      best_scale = select_less(best_gain, gain, fit, best_scale);
      best_gain = max(gain, best_gain);
    }
    best_scale.store(scale + column);
  }
}

template <class Vec>
void encode_int4(std::uint8_t* codes, const float* w, const float* scale) noexcept {
  using Int = typename Vec::Integer;
  const std::size_t order[] = {7, 3, 6, 2, 5, 1, 4, 0};  // of the nibbles, from the highest one
  const Int4Codebook<Vec> codebook;
  for (std::size_t column = 0; column < kPanel; column += kLanes) {
    const Vec inverse = inverse_of(Vec::load(scale + column));
    for (std::size_t k = 0; k < kInt4Block; k += 8) {
      Int group = 0;
      for (const std::size_t i : order) {
        const Vec weight = Vec::load(w + (k + i) * kPanel + column);
        group = shift_left<4>(group) | (codebook.code_of(weight * inverse) & 15);
      }
      group.store(codes + (k / 8 * kPanel + column) * 4);
    }
  }
}

}  // namespace gpt2
