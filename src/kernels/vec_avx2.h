#pragma once

#include <immintrin.h>

#include "kernels/lanes.h"

// Sixteen lanes in two AVX2 registers (with FMA and F16C). See vec_scalar.h for what each function
// means.

namespace gpt2::avx2 {

struct Int {
  __m256i lo, hi;

  static Int broadcast(std::int32_t value) {
    return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)};
  }
  static Int load(const void* p) {
    const __m256i* const q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
  }
  static Int broadcast_bytes(const std::int8_t* p) {
    std::int32_t four;
    __builtin_memcpy(&four, p, 4);
    return broadcast(four);
  }
  // dot() takes codes less 128 already.
  static Int sum_from(std::int32_t) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
};

inline Int operator+(Int a, Int b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
inline Int operator-(Int a, Int b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
inline Int operator&(Int a, Int b) {
  return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}
inline Int operator|(Int a, Int b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
template <int kBits>
inline Int shift_left(Int a) {
  return {_mm256_slli_epi32(a.lo, kBits), _mm256_slli_epi32(a.hi, kBits)};
}
template <int kBits>
inline Int shift_right(Int a) {
  return {_mm256_srai_epi32(a.lo, kBits), _mm256_srai_epi32(a.hi, kBits)};
}

struct Vec {
  using Integer = Int;
  static constexpr std::size_t kTileRows = 6;  // 12 accumulators, 2 weights and a broadcast: 15
  static constexpr std::size_t kTileVecs = 1;
  static constexpr std::size_t kStreamDepth = 6;
  static constexpr std::size_t kStreamVecs = 1;
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 2;
  static constexpr std::size_t kQuantizedRows = 3;
  static constexpr std::size_t kQuantizedVecs = 1;
  static constexpr std::size_t kQuantizedRowVecs = 2;  // of a single row

  __m256 lo, hi;

  static Vec broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static Vec load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Vec load(const F32* p) {
    const auto bits = Int::load(p);
    return {_mm256_castsi256_ps(bits.lo), _mm256_castsi256_ps(bits.hi)};
  }
  static Vec load(const F16* p) {
    return {_mm256_cvtph_ps(half_register(p)), _mm256_cvtph_ps(half_register(p + 8))};
  }
  static Vec load(const BF16* p) { return {widen(half_register(p)), widen(half_register(p + 8))}; }
  void store(float* p) const {
    _mm256_storeu_ps(p, lo);
    _mm256_storeu_ps(p + 8, hi);
  }

 private:
  static __m128i half_register(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static __m256 widen(__m128i bf16) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bf16), 16));
  }
};

inline Vec operator+(Vec a, Vec b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline Vec operator-(Vec a, Vec b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline Vec operator*(Vec a, Vec b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline Vec operator/(Vec a, Vec b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  return {_mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}

// Two products of a pair make at most 2 * 128 * 127 = 32512: maddubs does not saturate where its
// unsigned side is |code - 128| and x, which is never -128, takes the sign.
inline __m256i dot(__m256i sum, __m256i codes, __m256i x) {
  const __m256i weight = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weight), _mm256_sign_epi8(x, weight));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline Int dot(Int sum, Int codes, Int x) {
  return {dot(sum.lo, codes.lo, x.lo), dot(sum.hi, codes.hi, x.hi)};
}
inline Int codebook_lookup(Int nibbles) {
  const __m128i codebook = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Codebook));
  const __m256i codes = _mm256_broadcastsi128_si256(_mm_xor_si128(codebook, _mm_set1_epi8(-128)));
  return {_mm256_shuffle_epi8(codes, nibbles.lo), _mm256_shuffle_epi8(codes, nibbles.hi)};
}
inline void store_low_bytes(std::int8_t* p, Int a) {
  const __m256i low = _mm256_set1_epi32(255);
  const __m256i pairs =
      _mm256_packus_epi32(_mm256_and_si256(a.lo, low), _mm256_and_si256(a.hi, low));
  const __m256i in_order = _mm256_permute4x64_epi64(pairs, 0b11'01'10'00);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packus_epi16(_mm256_castsi256_si128(in_order), _mm256_extracti128_si256(in_order, 1)));
}

inline Int bits_of(Vec a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
inline Vec from_bits(Int a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
inline Vec to_float(Int a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }

inline float reduce_add(Vec a) {
  const __m256 by8 = _mm256_add_ps(a.lo, a.hi);
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
inline float reduce_max(Vec a) {
  const __m256 by8 = _mm256_max_ps(a.lo, a.hi);
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}

}  // namespace gpt2::avx2
