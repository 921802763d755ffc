#pragma once

#include <immintrin.h>

#include "kernels/vec.h"

namespace gpt2::avx512 {

/// AVX-512 with VNNI: sixteen lanes in one register.
struct Isa : Registers<64> {
  static constexpr const char* kName = "avx512";
  // There are 32 registers, and a vector takes 1. vec_scalar.h explains the sizes.
  //
  // 24 sums, 4 weights and a broadcast value of x take 29 registers. For each k, a tile of 6 x 4
  // loads 10 vectors; a tile of 12 x 2 would load 14.
  static constexpr std::size_t kTileRows = 6;
  static constexpr std::size_t kTileVecs = 4;
  // 16 weights, 2 sums and a broadcast value of x take 19 registers. The 8 rows are read as 8
  // streams.
  static constexpr std::size_t kStreamDepth = 8;
  static constexpr std::size_t kStreamVecs = 2;
  // 24 sums of a chunk, 4 vectors of w and 1 of x take 29 registers. The totals of the chunks are
  // in memory.
  static constexpr std::size_t kDotRows = 6;
  static constexpr std::size_t kDotColumns = 4;
  // 12 sums of a block, 12 totals of all blocks, 2 vectors of codes and 4 broadcast bytes of x take
  // 27 registers. If there are more rows, the totals are in memory.
  static constexpr std::size_t kQuantizedRows = 6;
  static constexpr std::size_t kQuantizedMaxRows = 12;
  static constexpr std::size_t kQuantizedVecs = 2;

  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Double add_square(Double sum, Double a) { return _mm512_fmadd_pd(a, a, sum); }

  // mul_epu32 multiplies the even lanes.
  static Int high_product(Int a, std::uint32_t factor) {
    const __m512i factors = _mm512_set1_epi64(factor);
    const __m512i even = _mm512_mul_epu32(__m512i(a), factors);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(__m512i(a), 32), factors);
    return Int(_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0b1010101010101010, odd));
  }

  static Float widen(const F16* p, std::size_t) { return _mm512_cvtph_ps(half_register(p)); }
  static Float widen(const BF16* p, std::size_t) {
    return Float(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_register(p)), 16));
  }
  static Double widen(const float* p, std::size_t i) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(p + i * 8));
  }
  static void narrow(F16* p, std::size_t, Float a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  static Float lookup(const Float (&table)[1], Int index) {
    return _mm512_permutexvar_ps(__m512i(index), table[0]);
  }

  static constexpr bool kSignedCodes = false;
  static Int dot(Int sum, Int codes, Int x) {
    return Int(_mm512_dpbusd_epi32(__m512i(sum), __m512i(codes), __m512i(x)));
  }
  static Int codebook_lookup(Int nibbles) {
    const __m128i codebook = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Codebook));
    const __m512i codes = _mm512_broadcast_i32x4(_mm_xor_si128(codebook, _mm_set1_epi8(-128)));
    return Int(_mm512_shuffle_epi8(codes, __m512i(nibbles)));
  }
  static void store_low_bytes(std::int8_t* p, const Int (&a)[1]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(__m512i(a[0])));
  }

 private:
  static __m256i half_register(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
};

using Vec = Floats<Isa>;

}  // namespace gpt2::avx512
