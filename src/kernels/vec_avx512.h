#pragma once

#include <immintrin.h>

#include "kernels/lanes.h"

// Sixteen lanes in one AVX-512 register. See vec_scalar.h for what each function means.

namespace gpt2::avx512 {

struct Int {
  __m512i v;

  static Int broadcast(std::int32_t value) { return {_mm512_set1_epi32(value)}; }
  static Int load(const void* p) { return {_mm512_loadu_si512(p)}; }
  static Int broadcast_bytes(const std::int8_t* p) {
    std::int32_t four;
    __builtin_memcpy(&four, p, 4);
    return broadcast(four);
  }
  static Int sum_from(std::int32_t offset) { return broadcast(offset); }
  void store(void* p) const { _mm512_storeu_si512(p, v); }
};

inline Int operator+(Int a, Int b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Int operator-(Int a, Int b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Int operator&(Int a, Int b) { return {_mm512_and_si512(a.v, b.v)}; }
inline Int operator|(Int a, Int b) { return {_mm512_or_si512(a.v, b.v)}; }
inline Int operator^(Int a, Int b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int kBits>
inline Int shift_left(Int a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline Int shift_right(Int a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}

struct Vec {
  using Integer = Int;
  static constexpr std::size_t kTileRows = 12;  // 24 accumulators, 2 weights and a broadcast
  static constexpr std::size_t kTileVecs = 2;
  static constexpr std::size_t kStreamDepth = 8;
  static constexpr std::size_t kStreamVecs = 2;
  static constexpr std::size_t kDotRows = 6;
  static constexpr std::size_t kDotColumns = 4;
  static constexpr std::size_t kQuantizedRows = 6;
  static constexpr std::size_t kQuantizedVecs = 2;
  static constexpr std::size_t kQuantizedRowVecs = 8;  // of a single row

  __m512 v;

  static Vec broadcast(float value) { return {_mm512_set1_ps(value)}; }
  static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vec load(const F32* p) { return {_mm512_loadu_ps(p)}; }
  static Vec load(const F16* p) { return {_mm512_cvtph_ps(half_register(p))}; }
  static Vec load(const BF16* p) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_register(p)), 16))};
  }
  void store(float* p) const { _mm512_storeu_ps(p, v); }

 private:
  static __m256i half_register(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
};

inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}

inline Int dot(Int sum, Int codes, Int x) { return {_mm512_dpbusd_epi32(sum.v, codes.v, x.v)}; }
inline Int codebook_lookup(Int nibbles) {
  const __m128i codebook = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Codebook));
  const __m512i codes = _mm512_broadcast_i32x4(_mm_xor_si128(codebook, _mm_set1_epi8(-128)));
  return {_mm512_shuffle_epi8(codes, nibbles.v)};
}
inline void store_low_bytes(std::int8_t* p, Int a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

inline Int bits_of(Vec a) { return {_mm512_castps_si512(a.v)}; }
inline Vec from_bits(Int a) { return {_mm512_castsi512_ps(a.v)}; }
inline Vec to_float(Int a) { return {_mm512_cvtepi32_ps(a.v)}; }

inline __m256 upper_half(Vec a) { return _mm512_extractf32x8_ps(a.v, 1); }
inline __m256 lower_half(Vec a) { return _mm512_castps512_ps256(a.v); }

inline float reduce_add(Vec a) {
  const __m256 by8 = _mm256_add_ps(lower_half(a), upper_half(a));
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
inline float reduce_max(Vec a) {
  const __m256 by8 = _mm256_max_ps(lower_half(a), upper_half(a));
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}

}  // namespace gpt2::avx512
