#pragma once

#include "kernels/lanes.h"

// Sixteen lanes in plain C++: what every Vec means, and what runs where nothing else does.

namespace gpt2::scalar {

/// Sixteen 32-bit integers; arithmetic wraps.
struct Int {
  std::int32_t lane[kLanes];

  static Int broadcast(std::int32_t value) {
    Int r;
    for (auto& lane : r.lane) lane = value;
    return r;
  }
  static Int load(const void* p) {
    Int r;
    __builtin_memcpy(r.lane, p, sizeof r.lane);
    return r;
  }
  /// Every lane holds the same 4 bytes.
  static Int broadcast_bytes(const std::int8_t* p) {
    std::int32_t four;
    __builtin_memcpy(&four, p, 4);
    return broadcast(four);
  }
  static Int sum_from(std::int32_t offset) { return broadcast(offset); }
};

template <class F>
inline Int zip(Int a, Int b, const F& f) {
  Int r;
  for (std::size_t i = 0; i < kLanes; ++i) {
    r.lane[i] = static_cast<std::int32_t>(
        f(static_cast<std::uint32_t>(a.lane[i]), static_cast<std::uint32_t>(b.lane[i])));
  }
  return r;
}
inline Int operator+(Int a, Int b) {
  return zip(a, b, [](std::uint32_t x, std::uint32_t y) { return x + y; });
}
inline Int operator-(Int a, Int b) {
  return zip(a, b, [](std::uint32_t x, std::uint32_t y) { return x - y; });
}
inline Int operator&(Int a, Int b) {
  return zip(a, b, [](std::uint32_t x, std::uint32_t y) { return x & y; });
}
inline Int operator|(Int a, Int b) {
  return zip(a, b, [](std::uint32_t x, std::uint32_t y) { return x | y; });
}
template <int kBits>
inline Int shift_left(Int a) {
  return zip(a, a, [](std::uint32_t x, std::uint32_t) { return x << kBits; });
}
/// Fills with copies of the sign bit.
template <int kBits>
inline Int shift_right(Int a) {
  for (auto& lane : a.lane) lane >>= kBits;
  return a;
}

/// The f32 of the same value as an f16, subnormals and infinities included.
inline float widen(F16 half) {
  const unsigned bits = half.byte[0] | static_cast<unsigned>(half.byte[1]) << 8;
  const unsigned sign = (bits & 0x8000u) << 16;
  const unsigned rest = (bits & 0x7fffu) << 13;
  // The exponents differ by 112. A multiplication adds it, and normalises a subnormal.
  float value = __builtin_bit_cast(float, rest) * 0x1p+112f;
  if (rest >= 0x7c00u << 13) value = __builtin_bit_cast(float, rest | 0x7f800000u);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) | sign);
}

inline float widen(BF16 value) {
  const unsigned bits = value.byte[0] | static_cast<unsigned>(value.byte[1]) << 8;
  return __builtin_bit_cast(float, bits << 16);
}

struct Vec {
  using Integer = Int;
  static constexpr std::size_t kTileRows = 4;
  static constexpr std::size_t kTileVecs = 1;
  static constexpr std::size_t kStreamDepth = 4;
  static constexpr std::size_t kStreamVecs = 1;
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 2;
  static constexpr std::size_t kQuantizedRows = 2;
  static constexpr std::size_t kQuantizedVecs = 1;
  static constexpr std::size_t kQuantizedRowVecs = 1;  // of a single row

  float lane[kLanes];

  static Vec broadcast(float value) {
    Vec r;
    for (auto& lane : r.lane) lane = value;
    return r;
  }
  static Vec load(const float* p) {
    Vec r;
    __builtin_memcpy(r.lane, p, sizeof r.lane);
    return r;
  }
  static Vec load(const F32* p) {
    Vec r;
    __builtin_memcpy(r.lane, p, sizeof r.lane);
    return r;
  }
  template <class Narrow>
  static Vec load(const Narrow* p) {
    Vec r;
    for (std::size_t i = 0; i < kLanes; ++i) r.lane[i] = widen(p[i]);
    return r;
  }
  void store(float* p) const { __builtin_memcpy(p, lane, sizeof lane); }
};

template <class F>
inline Vec zip(Vec a, Vec b, const F& f) {
  for (std::size_t i = 0; i < kLanes; ++i) a.lane[i] = f(a.lane[i], b.lane[i]);
  return a;
}
inline Vec operator+(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x + y; });
}
inline Vec operator-(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x - y; });
}
inline Vec operator*(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x * y; });
}
inline Vec operator/(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x / y; });
}

/// a > b ? a : b, and a < b ? a : b: the second where either is NaN.
inline Vec max(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x > y ? x : y; });
}
inline Vec min(Vec a, Vec b) {
  return zip(a, b, [](float x, float y) { return x < y ? x : y; });
}

/// a * b + c, rounded once.
inline Vec fma(Vec a, Vec b, Vec c) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    a.lane[i] = __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]);
  }
  return a;
}
inline Vec sqrt(Vec a) {
  for (auto& lane : a.lane) lane = __builtin_sqrtf(lane);
  return a;
}
/// a < b ? x : y
inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (!(a.lane[i] < b.lane[i])) x.lane[i] = y.lane[i];
  }
  return x;
}

/// sum + the dot product of each lane's 4 unsigned bytes in `codes` with its 4 signed ones in `x`.
inline Int dot(Int sum, Int codes, Int x) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (int byte = 0; byte < 32; byte += 8) {
      const int code = static_cast<unsigned>(codes.lane[i]) >> byte & 255;
      sum.lane[i] += code * static_cast<std::int8_t>(x.lane[i] >> byte);
    }
  }
  return sum;
}
/// Each byte, 0 ... 15, becomes kInt4Codebook[byte] + 128.
inline Int codebook_lookup(Int nibbles) {
  for (auto& lane : nibbles.lane) {
    unsigned codes = 0;
    for (int byte = 0; byte < 32; byte += 8) {
      codes |= static_cast<unsigned>(kInt4Codebook[lane >> byte & 15] + 128) << byte;
    }
    lane = static_cast<std::int32_t>(codes);
  }
  return nibbles;
}
/// p[i] = the low 8 bits of lane i.
inline void store_low_bytes(std::int8_t* p, Int a) {
  for (std::size_t i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
}

inline Int bits_of(Vec a) { return __builtin_bit_cast(Int, a); }
inline Vec from_bits(Int a) { return __builtin_bit_cast(Vec, a); }
inline Vec to_float(Int a) {
  Vec r;
  for (std::size_t i = 0; i < kLanes; ++i) r.lane[i] = static_cast<float>(a.lane[i]);
  return r;
}

/// The sum of the lanes by the fixed tree: (i) + (i + 8), then 4, 2, 1.
inline float reduce_add(Vec a) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) a.lane[i] += a.lane[i + half];
  }
  return a.lane[0];
}
inline float reduce_max(Vec a) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      if (a.lane[i + half] > a.lane[i]) a.lane[i] = a.lane[i + half];
    }
  }
  return a.lane[0];
}

}  // namespace gpt2::scalar
