#pragma once

#include <arm_neon.h>

#include "kernels/lanes.h"

// Sixteen lanes in four NEON registers. See vec_scalar.h for what each function means.
//
// Compiled twice, for every aarch64 and for those with the dot product extension: two namespaces.

#if defined(__ARM_FEATURE_DOTPROD)
namespace gpt2::neon_dotprod {
#else
namespace gpt2::neon {
#endif

struct Int {
  int32x4_t v[4];

  static Int broadcast(std::int32_t value) {
    const int32x4_t r = vdupq_n_s32(value);
    return {{r, r, r, r}};
  }
  static Int load(const void* p) {
    const auto* const bytes = static_cast<const std::uint8_t*>(p);
    const auto at = [&](int i) { return vreinterpretq_s32_u8(vld1q_u8(bytes + i * 16)); };
    return {{at(0), at(1), at(2), at(3)}};
  }
  static Int broadcast_bytes(const std::int8_t* p) {
    std::int32_t four;
    __builtin_memcpy(&four, p, 4);
    return broadcast(four);
  }
  // dot() takes codes less 128 already.
  static Int sum_from(std::int32_t) { return broadcast(0); }
};

/// f of the registers of a and b, one pair after the other.
template <class Sixteen, class F>
[[gnu::always_inline]] inline Sixteen zip(const Sixteen& a, const Sixteen& b, const F& f) {
  return {{f(a.v[0], b.v[0]), f(a.v[1], b.v[1]), f(a.v[2], b.v[2]), f(a.v[3], b.v[3])}};
}

inline Int operator+(Int a, Int b) {
  return zip(a, b, [](int32x4_t x, int32x4_t y) { return vaddq_s32(x, y); });
}
inline Int operator-(Int a, Int b) {
  return zip(a, b, [](int32x4_t x, int32x4_t y) { return vsubq_s32(x, y); });
}
inline Int operator&(Int a, Int b) {
  return zip(a, b, [](int32x4_t x, int32x4_t y) { return vandq_s32(x, y); });
}
inline Int operator|(Int a, Int b) {
  return zip(a, b, [](int32x4_t x, int32x4_t y) { return vorrq_s32(x, y); });
}
template <int kBits>
inline Int shift_left(Int a) {
  return zip(a, a, [](int32x4_t x, int32x4_t) { return vshlq_n_s32(x, kBits); });
}
template <int kBits>
inline Int shift_right(Int a) {
  return zip(a, a, [](int32x4_t x, int32x4_t) { return vshrq_n_s32(x, kBits); });
}

struct Vec {
  using Integer = Int;
  static constexpr std::size_t kTileRows = 6;  // 24 accumulators, 4 weights and a broadcast of 32
  static constexpr std::size_t kTileVecs = 1;
  static constexpr std::size_t kStreamDepth = 6;
  static constexpr std::size_t kStreamVecs = 1;
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 2;
  static constexpr std::size_t kQuantizedRows = 3;
  static constexpr std::size_t kQuantizedVecs = 1;
  static constexpr std::size_t kQuantizedRowVecs = 2;  // of a single row

  float32x4_t v[4];

  static Vec broadcast(float value) {
    const float32x4_t r = vdupq_n_f32(value);
    return {{r, r, r, r}};
  }
  static Vec load(const float* p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  static Vec load(const F32* p) {
    const Int bits = Int::load(p);
    return {{vreinterpretq_f32_s32(bits.v[0]), vreinterpretq_f32_s32(bits.v[1]),
             vreinterpretq_f32_s32(bits.v[2]), vreinterpretq_f32_s32(bits.v[3])}};
  }
  static Vec load(const F16* p) {
    const float16x8_t low = vreinterpretq_f16_u8(eight_halves(p));
    const float16x8_t high = vreinterpretq_f16_u8(eight_halves(p + 8));
    return {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low),
             vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)}};
  }
  static Vec load(const BF16* p) {
    const uint16x8_t low = vreinterpretq_u16_u8(eight_halves(p));
    const uint16x8_t high = vreinterpretq_u16_u8(eight_halves(p + 8));
    return {{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(low), 16)),
             vreinterpretq_f32_u32(vshll_high_n_u16(low, 16)),
             vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(high), 16)),
             vreinterpretq_f32_u32(vshll_high_n_u16(high, 16))}};
  }
  void store(float* p) const {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + i * 4, v[i]);
  }

 private:
  static uint8x16_t eight_halves(const void* p) {
    return vld1q_u8(static_cast<const std::uint8_t*>(p));
  }
};

inline Vec operator+(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vaddq_f32(x, y); });
}
inline Vec operator-(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vsubq_f32(x, y); });
}
inline Vec operator*(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vmulq_f32(x, y); });
}
inline Vec operator/(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vdivq_f32(x, y); });
}
// Not vmaxq_f32, which treats NaN otherwise.
inline Vec max(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); });
}
inline Vec min(Vec a, Vec b) {
  return zip(a, b, [](float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); });
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return {{vfmaq_f32(c.v[0], a.v[0], b.v[0]), vfmaq_f32(c.v[1], a.v[1], b.v[1]),
           vfmaq_f32(c.v[2], a.v[2], b.v[2]), vfmaq_f32(c.v[3], a.v[3], b.v[3])}};
}
inline Vec sqrt(Vec a) {
  return zip(a, a, [](float32x4_t x, float32x4_t) { return vsqrtq_f32(x); });
}
inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  Vec r;
  for (int i = 0; i < 4; ++i) r.v[i] = vbslq_f32(vcltq_f32(a.v[i], b.v[i]), x.v[i], y.v[i]);
  return r;
}

inline int32x4_t dot(int32x4_t sum, int32x4_t codes, int32x4_t x) {
  const int8x16_t weight =
      vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_s32(codes), vdupq_n_u8(128)));
  const int8x16_t factor = vreinterpretq_s8_s32(x);
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(sum, weight, factor);
#else
  const int16x8_t low = vmull_s8(vget_low_s8(weight), vget_low_s8(factor));
  const int16x8_t high = vmull_high_s8(weight, factor);
  return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
inline Int dot(Int sum, Int codes, Int x) {
  return {{dot(sum.v[0], codes.v[0], x.v[0]), dot(sum.v[1], codes.v[1], x.v[1]),
           dot(sum.v[2], codes.v[2], x.v[2]), dot(sum.v[3], codes.v[3], x.v[3])}};
}
inline Int codebook_lookup(Int nibbles) {
  const uint8x16_t codes = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(kInt4Codebook)), vdupq_n_u8(128));
  return zip(nibbles, nibbles, [=](int32x4_t x, int32x4_t) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(codes, vreinterpretq_u8_s32(x)));
  });
}
inline void store_low_bytes(std::int8_t* p, Int a) {
  const int16x8_t low = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

inline Int bits_of(Vec a) { return __builtin_bit_cast(Int, a); }
inline Vec from_bits(Int a) { return __builtin_bit_cast(Vec, a); }
inline Vec to_float(Int a) {
  return {
      {vcvtq_f32_s32(a.v[0]), vcvtq_f32_s32(a.v[1]), vcvtq_f32_s32(a.v[2]), vcvtq_f32_s32(a.v[3])}};
}

inline float reduce_add(Vec a) {
  const float32x4_t by4 = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t by2 = vadd_f32(vget_low_f32(by4), vget_high_f32(by4));
  return vget_lane_f32(by2, 0) + vget_lane_f32(by2, 1);
}
inline float reduce_max(Vec a) {
  const float32x4_t by4 = vmaxq_f32(vmaxq_f32(a.v[0], a.v[2]), vmaxq_f32(a.v[1], a.v[3]));
  return vmaxvq_f32(by4);
}

}  // namespace
