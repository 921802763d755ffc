#pragma once

#include <arm_neon.h>

#include "kernels/vec.h"

// This header is compiled twice: once for every aarch64 CPU, and once for those with the dot
// product extension. Each time it has a namespace of its own.

#if defined(__ARM_FEATURE_DOTPROD)
namespace gpt2::neon_dotprod {
constexpr const char* kIsa = "neon_dotprod";
#else
namespace gpt2::neon {
constexpr const char* kIsa = "neon";
#endif

/// NEON: sixteen lanes in four registers.
struct Isa : Registers<16> {
  static constexpr const char* kName = kIsa;
  // There are 32 registers, and a vector takes 4. vec_scalar.h explains the sizes. They are chosen
  // to fit the registers; no measurement is recorded.
  //
  // 24 sums, 4 weights and a broadcast value of x take 29 registers.
  static constexpr std::size_t kTileRows = 6;
  static constexpr std::size_t kTileVecs = 1;
  // 24 weights, 4 sums and a broadcast value of x take 29 registers.
  static constexpr std::size_t kStreamDepth = 6;
  static constexpr std::size_t kStreamVecs = 1;
  // 16 sums, 8 registers of w and 4 of x take 28.
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 2;
  // 12 sums of a block, 12 totals of all blocks, 4 registers of codes and 1 of x take 29 registers.
  static constexpr std::size_t kQuantizedRows = 3;
  static constexpr std::size_t kQuantizedMaxRows = 3;
  static constexpr std::size_t kQuantizedVecs = 1;

  static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
  static Double add_square(Double sum, Double a) { return vfmaq_f64(sum, a, a); }

  static Int high_product(Int a, std::uint32_t factor) {
    const uint32x4_t low = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(a), factor));
    const uint32x4_t high = vreinterpretq_u32_u64(vmull_high_n_u32(a, factor));
    return vuzp2q_u32(low, high);
  }

  // Both widen the lower or the upper half of eight numbers. The compiler loads these eight once
  // for the two registers that they fill.
  static Float widen(const F16* p, std::size_t i) {
    const float16x8_t eight = vreinterpretq_f16_u8(vld1q_u8(p[i / 2 * 8].byte));
    return i % 2 == 0 ? vcvt_f32_f16(vget_low_f16(eight)) : vcvt_high_f32_f16(eight);
  }
  static Float widen(const BF16* p, std::size_t i) {
    const uint16x8_t eight = vreinterpretq_u16_u8(vld1q_u8(p[i / 2 * 8].byte));
    return Float(i % 2 == 0 ? vshll_n_u16(vget_low_u16(eight), 16) : vshll_high_n_u16(eight, 16));
  }
  static Double widen(const float* p, std::size_t i) { return vcvt_f64_f32(vld1_f32(p + i * 2)); }
  static void narrow(F16* p, std::size_t i, Float a) {
    vst1_u8(p[i * 4].byte, vreinterpret_u8_f16(vcvt_f16_f32(a)));
  }

  static Float lookup(const Float (&table)[4], Int index) {
    const uint8x16x4_t bytes = {vreinterpretq_u8_f32(table[0]), vreinterpretq_u8_f32(table[1]),
                                vreinterpretq_u8_f32(table[2]), vreinterpretq_u8_f32(table[3])};
    const Int first_byte = (index & 15u) * 4;
    const Int four_bytes = first_byte * 0x01010101u + 0x03020100u;
    return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_u32(four_bytes)));
  }

  static constexpr bool kSignedCodes = true;
  static Int dot(Int sum, Int codes, Int x) {
    const int8x16_t weight = vreinterpretq_s8_u32(codes ^ 0x80808080u);
    const int8x16_t factor = vreinterpretq_s8_u32(x);
#if defined(__ARM_FEATURE_DOTPROD)
    return Int(vdotq_s32(int32x4_t(sum), weight, factor));
#else
    const int16x8_t low = vmull_s8(vget_low_s8(weight), vget_low_s8(factor));
    const int16x8_t high = vmull_high_s8(weight, factor);
    return sum + Int(vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
  }
  static Int codebook_lookup(Int nibbles) {
    const uint8x16_t codes =
        veorq_u8(vreinterpretq_u8_s8(vld1q_s8(kInt4Codebook)), vdupq_n_u8(128));
    return Int(vqtbl1q_u8(codes, vreinterpretq_u8_u32(nibbles)));
  }
  static void store_low_bytes(std::int8_t* p, const Int (&a)[4]) {
    const uint16x8_t low = vcombine_u16(vmovn_u32(a[0]), vmovn_u32(a[1]));
    const uint16x8_t high = vcombine_u16(vmovn_u32(a[2]), vmovn_u32(a[3]));
    vst1q_s8(p, vreinterpretq_s8_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high))));
  }
};

using Vec = Floats<Isa>;

}  // namespace
