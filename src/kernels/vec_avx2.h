#pragma once

#include <immintrin.h>

#include "kernels/vec.h"

namespace gpt2::avx2 {

/// AVX2 with FMA and F16C: sixteen lanes in two registers.
struct Isa : Registers<32> {
  static constexpr const char* kName = "avx2";
  // There are 16 registers, and a vector takes 2. vec_scalar.h explains the sizes.
  //
  // 12 sums, 2 weights and a broadcast value of x take 15 registers.
  static constexpr std::size_t kTileRows = 6;
  static constexpr std::size_t kTileVecs = 1;
  // 16 weights and 2 sums do not all fit, so the compiler keeps some in memory. The 8 rows are
  // read as 8 streams.
  static constexpr std::size_t kStreamDepth = 8;
  static constexpr std::size_t kStreamVecs = 1;
  // 12 sums take 12 registers. The halves of the lanes are multiplied one after the other, each
  // with 2 registers of w and 1 of x, so that 15 registers are in use.
  static constexpr std::size_t kDotRows = 3;
  static constexpr std::size_t kDotColumns = 2;
  // 24 sums do not all fit, so the compiler keeps some in memory. In exchange, the part of dot()
  // that depends on the codes alone is computed only once for 12 rows.
  static constexpr std::size_t kQuantizedRows = 12;
  static constexpr std::size_t kQuantizedMaxRows = 12;
  static constexpr std::size_t kQuantizedVecs = 1;

  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Double add_square(Double sum, Double a) { return _mm256_fmadd_pd(a, a, sum); }

  // mul_epu32 multiplies the even lanes.
  static Int high_product(Int a, std::uint32_t factor) {
    const __m256i factors = _mm256_set1_epi64x(factor);
    const __m256i even = _mm256_mul_epu32(__m256i(a), factors);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(__m256i(a), 32), factors);
    return Int(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0b10101010));
  }

  static Float widen(const F16* p, std::size_t i) {
    return _mm256_cvtph_ps(half_register(p + i * 8));
  }
  static Float widen(const BF16* p, std::size_t i) {
    return Float(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half_register(p + i * 8)), 16));
  }
  static Double widen(const float* p, std::size_t i) {
    return _mm256_cvtps_pd(_mm_loadu_ps(p + i * 4));
  }
  static void narrow(F16* p, std::size_t i, Float a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + i * 8),
                     _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static Float lookup(const Float (&table)[2], Int index) {
    const __m256 low = _mm256_permutevar8x32_ps(table[0], __m256i(index));
    const __m256 high = _mm256_permutevar8x32_ps(table[1], __m256i(index));
    return _mm256_blendv_ps(low, high, __m256(index << 28));  // bit 3 becomes the sign
  }

  static constexpr bool kSignedCodes = true;
  // maddubs adds two products of an unsigned and a signed byte, and saturates at 16 bits. Here the
  // unsigned side is |code - 128|, and x takes the sign. Because x is never -128, the sum is at
  // most 2 * 128 * 127 = 32512 and does not saturate.
  static Int dot(Int sum, Int codes, Int x) {
    const __m256i weight = __m256i(codes ^ 0x80808080u);
    const __m256i pairs =
        _mm256_maddubs_epi16(_mm256_abs_epi8(weight), _mm256_sign_epi8(__m256i(x), weight));
    return sum + Int(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static Int codebook_lookup(Int nibbles) {
    const __m256i codebook = _mm256_broadcastsi128_si256(half_register(kInt4Codebook));
    const __m256i codes = _mm256_xor_si256(codebook, _mm256_set1_epi8(-128));
    return Int(_mm256_shuffle_epi8(codes, __m256i(nibbles)));
  }
  static void store_low_bytes(std::int8_t* p, const Int (&a)[2]) {
    const __m256i pairs = _mm256_packus_epi32(__m256i(a[0] & 255u), __m256i(a[1] & 255u));
    const __m256i in_order = _mm256_permute4x64_epi64(pairs, 0b11'01'10'00);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi16(_mm256_castsi256_si128(in_order), _mm256_extracti128_si256(in_order, 1)));
  }

 private:
  static __m128i half_register(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
};

using Vec = Floats<Isa>;

}  // namespace gpt2::avx2
