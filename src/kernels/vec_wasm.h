#pragma once

#include <wasm_simd128.h>

#include "kernels/vec_scalar.h"

namespace gpt2::wasm {

/// WebAssembly's SIMD128: sixteen lanes in four registers.
struct Isa : Registers<16> {
  static constexpr const char* kName = "wasm";
  // An engine has the 16 or 32 registers of the machine, and a vector takes 4. vec_scalar.h
  // explains the sizes.
  static constexpr std::size_t kTileRows = 2;
  static constexpr std::size_t kTileVecs = 1;
  static constexpr std::size_t kStreamDepth = 4;
  static constexpr std::size_t kStreamVecs = 1;
  static constexpr bool kPrefetches = false;
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 1;
  static constexpr std::size_t kQuantizedRows = 2;
  static constexpr std::size_t kQuantizedMaxRows = 2;
  static constexpr std::size_t kQuantizedVecs = 1;

  // a * b + c, rounded once. SIMD128 has no fused multiply-add, so this computes in f64.
  // The product of two f32 is exact there, and the sum is rounded to 53 bits. Rounding it again, to
  // the 24 bits of f32, can only be wrong if the f64 lies half way between two f32, or if the f32
  // is subnormal, which has fewer bits. This is rare, and then the f64 is made odd.
  [[gnu::noinline]] static Float fma(Float a, Float b, Float c) {
    v128_t least = wasm_i32x4_const_splat(-1);
    const Float sum = fused(a, b, c, least);
    return is_rare(least) ? round_once(a, b, c) : sum;
  }

  static Double add_square(Double sum, Double a) { return sum + a * a; }

  static Int high_product(Int a, std::uint32_t factor) {
    const v128_t factors = wasm_i32x4_splat(static_cast<std::int32_t>(factor));
    const v128_t low = wasm_u64x2_extmul_low_u32x4(v128_t(a), factors);
    const v128_t high = wasm_u64x2_extmul_high_u32x4(v128_t(a), factors);
    return Int(wasm_i32x4_shuffle(low, high, 1, 3, 5, 7));
  }

  static Float widen(const F16* p, std::size_t i) {
    const Int bits = Int(wasm_i32x4_load16x4(p + i * 4));  // the sign fills the upper half
    const Int rest = bits << 13 & 0x7fffu << 13;
    // The exponent of f32 has a bias that is larger by 112, and the product is normal.
    const Int finite = Int(Float(rest) * 0x1p+112f);
    return Float((rest >= 0x7c00u << 13 ? rest | 0x7f800000u : finite) | (bits & 0x80000000u));
  }
  static Float widen(const BF16* p, std::size_t i) {
    return Float(Int(wasm_u32x4_load16x4(p + i * 4)) << 16);
  }
  static Double widen(const float* p, std::size_t i) {
    return Double(wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p + i * 2)));
  }
  static void narrow(F16* p, std::size_t i, Float a) { scalar::Isa::narrow(p, i, a); }

  static Float lookup(const Float (&table)[4], Int index) {
    return scalar::Isa::lookup(table, index);
  }

  static constexpr bool kSignedCodes = false;
  // Adds the products of the bytes at even places and of those at odd places, which are widened to
  // 16 bits. The compiler widens x once for all columns.
  static Int dot(Int sum, Int codes, Int x) {
    const v128_t x_even = wasm_i16x8_shr(wasm_i16x8_shl(v128_t(x), 8), 8);
    const v128_t x_odd = wasm_i16x8_shr(v128_t(x), 8);
    return sum + Int(wasm_i32x4_dot_i16x8(v128_t(codes & 0x00ff00ffu), x_even)) +
           Int(wasm_i32x4_dot_i16x8(wasm_u16x8_shr(v128_t(codes), 8), x_odd));
  }
  static Int codebook_lookup(Int nibbles) {
    const v128_t codes = wasm_v128_xor(wasm_v128_load(kInt4Codebook), wasm_i8x16_const_splat(-128));
    return Int(wasm_i8x16_swizzle(codes, v128_t(nibbles)));
  }
  static void store_low_bytes(std::int8_t* p, const Int (&a)[4]) {
    scalar::Isa::store_low_bytes(p, a);
  }

 protected:
  // a * b + c, right unless is_rare(least). Each call makes `least` smaller.
  [[gnu::always_inline]] static Float fused(Float a, Float b, Float c, v128_t& least) {
    const v128_t low = sum_of(v128_t(a), v128_t(b), v128_t(c));
    const v128_t high = sum_of(upper(a), upper(b), upper(c));
    const v128_t narrow = narrow_pair(low, high);
    // The 29 bits that f32 lacks are in the lower halves of the f64.
    const v128_t rest = wasm_i32x4_shl(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), 3);
    const v128_t is_half = wasm_i32x4_eq(rest, wasm_i32x4_const_splat(INT32_MIN));
    // The magnitude, one bit to the left, less one: 0 becomes the largest.
    const v128_t magnitude = wasm_i32x4_sub(wasm_i32x4_shl(narrow, 1), wasm_i32x4_const_splat(1));
    least = wasm_u32x4_min(least, wasm_v128_andnot(magnitude, is_half));
    return Float(narrow);
  }
  // Whether a result is subnormal, or the f64 lay half way, which makes `least` 0.
  [[gnu::always_inline]] static bool is_rare(v128_t least) {
    return wasm_v128_any_true(wasm_u32x4_lt(least, wasm_i32x4_const_splat(0xffffff)));
  }

  static v128_t upper(Float a) { return wasm_i64x2_shuffle(v128_t(a), v128_t(a), 1, 1); }
  static v128_t narrow_pair(v128_t low, v128_t high) {
    return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high),
                              0, 2);
  }

  // a * b + c for the two lower lanes, in f64.
  static v128_t sum_of(v128_t a, v128_t b, v128_t c) {
    const v128_t product =
        wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
    return wasm_f64x2_add(product, wasm_f64x2_promote_low_f32x4(c));
  }

  // The same, rounded to odd: an f64 that is not exact gets an odd last bit.
  static v128_t odd_sum_of(v128_t a, v128_t b, v128_t c) {
    const v128_t product =
        wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
    const v128_t added = wasm_f64x2_promote_low_f32x4(c);
    const v128_t sum = wasm_f64x2_add(product, added);
    // What the sum lacks (Knuth's two-sum): both differences are exact.
    const v128_t part = wasm_f64x2_sub(sum, product);
    const v128_t error = wasm_f64x2_add(wasm_f64x2_sub(product, wasm_f64x2_sub(sum, part)),
                                        wasm_f64x2_sub(added, part));
    const v128_t zero = wasm_i64x2_const_splat(0);
    const v128_t is_inexact = wasm_v128_or(wasm_f64x2_lt(error, zero), wasm_f64x2_gt(error, zero));
    const v128_t is_even = wasm_i64x2_eq(wasm_v128_and(sum, wasm_i64x2_const_splat(1)), zero);
    // Away from zero if the error has the sum's sign, else towards zero: +1 or -1 in the bits.
    const v128_t step =
        wasm_v128_or(wasm_i64x2_shr(wasm_v128_xor(sum, error), 63), wasm_i64x2_const_splat(1));
    return wasm_i64x2_add(sum, wasm_v128_and(step, wasm_v128_and(is_inexact, is_even)));
  }

  [[gnu::noinline]] static Float round_once(Float a, Float b, Float c) {
    return Float(narrow_pair(odd_sum_of(v128_t(a), v128_t(b), v128_t(c)),
                             odd_sum_of(upper(a), upper(b), upper(c))));
  }
};

#ifdef __wasm_relaxed_simd__

/// The same with the multiply-add of relaxed SIMD. gpt2.mjs loads this module only if the engine
/// rounds it once.
struct FastIsa : Isa {
  static Float fma(Float a, Float b, Float c) { return __builtin_wasm_fma_f32x4(a, b, c); }
};

using Vec = Floats<FastIsa>;

#else

/// The same with fma() inlined, and one branch of fma() for all registers.
struct FastIsa : Isa {
  using Float = Isa::Float;
  [[gnu::always_inline]] static void fuse(const Float (&a)[4], const Float (&b)[4], Float (&c)[4]) {
    Float sum[4];
    v128_t least = wasm_i32x4_const_splat(-1);
    for (int i = 0; i < 4; ++i) sum[i] = fused(a[i], b[i], c[i], least);
    if (is_rare(least)) [[unlikely]] {
      for (int i = 0; i < 4; ++i) sum[i] = round_once(a[i], b[i], c[i]);
    }
    for (int i = 0; i < 4; ++i) c[i] = sum[i];
  }
};

using Vec = Floats<Isa>;

#endif

using FastVec = Floats<FastIsa>;

}  // namespace gpt2::wasm
