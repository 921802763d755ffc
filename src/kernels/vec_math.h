#pragma once

#include "kernels/lanes.h"

// exp, log, tanh and the normal distribution function. They consist of operations that IEEE 754
// defines exactly, in one fixed order, so that they give the same bits on every instruction set.
//
// The polynomials are minimax fits (Remez). Their coefficients were rounded to f32 one after
// another, and after each rounding the remaining ones were fitted again. Each polynomial has enough
// terms to make its own error smaller than half an ulp (2^-25 to 2^-24 of the result), which every
// rounding adds anyway. The comments give the error of the polynomial alone, without the rounding
// errors of the operations.
// tests/kernels/vec_math_test.cpp checks the bounds of the functions against double precision.

namespace gpt2 {

/// c[0] + x c[1] + x^2 c[2] + ...
template <class Vec, std::size_t kTerms>
[[gnu::always_inline]] inline Vec polynomial(Vec x, const float (&c)[kTerms]) {
  Vec sum = c[kTerms - 1];
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)  // where an fma() has 200 instructions
#pragma GCC unroll 1
#else
#pragma GCC unroll 16
#endif
  for (std::size_t i = kTerms - 1; i > 0; --i) sum = fma(sum, x, c[i - 1]);
  return sum;
}

template <class Vec>
[[gnu::always_inline]] inline Vec abs(Vec x) {
  return from_bits(bits_of(x) & 0x7fffffff);
}

/// Returns x with the sign of `sign`. REQUIRES: x >= 0.
template <class Vec>
[[gnu::always_inline]] inline Vec with_sign_of(Vec x, Vec sign) {
  return from_bits(bits_of(x) | (bits_of(sign) & 0x80000000u));
}

/// Returns e^x, within 1 ulp if the result is a normal number. The result is 0 below -126.5 ln 2
/// (-87.68), and infinity from 127.5 ln 2 (88.37) on. NaN stays NaN.
template <class Vec>
[[gnu::always_inline]] inline Vec exp(Vec x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to an integer and leaves this
  // integer in the low bits. Adding 127 more turns these bits into the exponent field of 2^n. x is
  // limited so that n stays within -127 and 128, whose exponent fields mean 0 and infinity.
  constexpr float kRound = 0x1.8p23f + 127.0f;
  constexpr float kLn2High = 0x1.62e4p-1f;  // has 15 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  x = min(88.7f, max(-88.0f, x));
  const Vec shifted = fma(x, 0x1.715476p0f, kRound);
  const Vec n = shifted - kRound;
  const Vec r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
  // Degree 6 is off by at most 2^-28 of e^r. Degree 5 could not do better than 2^-23.
  const Vec e_r = polynomial(r, {1.0f, 1.0f, 4.999999404e-01f, 1.666652262e-01f, 4.166829214e-02f,
                                 8.368532173e-03f, 1.381829847e-03f});
  return e_r * from_bits(shift_left<23>(bits_of(shifted)));
}

/// Returns ln x within 1 ulp. REQUIRES: x is positive and normal.
template <class Vec>
[[gnu::always_inline]] inline Vec log(Vec x) {
  using Int = typename Vec::Integer;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)), and f = m - 1.
  const Int sqrt_half = 0x3f3504f3;
  const Int n = shift_right<23>(bits_of(x) - sqrt_half);
  const Vec f = from_bits(bits_of(x) - shift_left<23>(n)) - 1.0f;
  const Vec exponent = to_float(n);

  // log(1 + f) = f - f^2 / 2 + f^3 q(f). With degree 8 this is off by at most 2^-30 of the result;
  // with degree 7 it would be off by about 2^-27.
  const Vec q = polynomial(f, {3.333331347e-01f, -2.500000894e-01f, 2.000207156e-01f,
                               -1.666798890e-01f, 1.422035843e-01f, -1.240623370e-01f,
                               1.188354865e-01f, -1.167009845e-01f, 6.749269366e-02f});
  const Vec square = f * f;
  Vec low = fma(exponent, 0x1.7f7d1cp-20f, square * f * q);
  low = fma(square, -0.5f, low);
  return fma(exponent, 0x1.62e4p-1f, f + low);
}

/// Returns 1 / (1 + e^-x), within 2.5 ulp if the result is a normal number.
template <class Vec>
[[gnu::always_inline]] inline Vec sigmoid(Vec x) {
  return 1.0f / (1.0f + exp(0.0f - x));
}

/// Returns tanh x within 1.5 ulp.
template <class Vec>
[[gnu::always_inline]] inline Vec tanh(Vec x) {
  // 1 - 2 / (e^2x + 1) loses digits near 0, because there it is the difference of two numbers near
  // 1. From atanh(1/2) = 0.55 on, the quotient is smaller than the result, and its error counts
  // little. Up to 0.625 the result is x + x^3 q(x^2). With degree 4 this is off by at most 2^-27 of
  // the result; with degree 3 it would be 2^-23.
  const Vec magnitude = abs(x);
  const Vec square = x * x;
  const Vec q = polynomial(square, {-3.333328068e-01f, 1.333140582e-01f, -5.373651534e-02f,
                                    2.062816732e-02f, -5.692296661e-03f});
  const Vec near = fma(magnitude * square, q, magnitude);
  const Vec far = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  return with_sign_of(select_less(magnitude, 0.625f, near, far), x);
}

/// Returns (1 + erf x) / 2, within 7e-8.
template <class Vec>
[[gnu::always_inline]] inline Vec half_one_plus_erf(Vec x) {
  // For |x| < 1, erf(x) / 2 = x p(x^2). With degree 5 this is off by at most 2^-26; with degree 4
  // it would be about 2^-22, which is more than the bound.
  //
  // From 1 on, erfc(|x|) = e^-(x^2 + h(|x|)), where h is a smooth function that grows slowly, from
  // 0.8 to 2.8. With degree 8, half of erfc is off by about 2^-26 at most; why h has this degree is
  // not recorded. At 9.3 the exponent is below -87.68, so that exp() gives 0 from there on.
  const Vec p = polynomial(x * x, {5.641895533e-01f, -1.880612373e-01f, 5.639788136e-02f,
                                   -1.334754191e-02f, 2.449821914e-03f, -2.780926297e-04f});
  const Vec magnitude = min(9.3f, abs(x));
  const Vec h = polynomial(magnitude, {1.502333325e-03f, 1.123011589e+00f, -3.563345373e-01f,
                                       9.964653105e-02f, -2.103437670e-02f, 3.090881044e-03f,
                                       -2.921153791e-04f, 1.576372051e-05f, -3.664401902e-07f});
  const Vec tail = 0.5f * exp(0.0f - fma(magnitude, magnitude, h));
  const Vec far = select_less(x, 0.0f, tail, 1.0f - tail);
  return select_less(abs(x), 1.0f, fma(x, p, 0.5f), far);
}

}  // namespace gpt2
