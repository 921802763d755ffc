#pragma once

#include "kernels/vec_math.h"

// The activation functions that HuggingFace's GPT-2 may name, each as a function of a Vec.

namespace gpt2 {

/// x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3). It is computed as x sigmoid(2 u),
/// which is the same function without the cancellation in 1 + tanh u.
template <class Vec>
[[gnu::always_inline]] inline Vec gelu_new(Vec x) {
  const Vec inner = fma(x * x, 0.044715f, 1.0f);
  const Vec minus_2u = -1.5957691216f * x * inner;
  return x / (1.0f + exp(minus_2u));
}

template <class Vec>
[[gnu::always_inline]] inline Vec gelu(Vec x) {
  return x * half_one_plus_erf(x * 0.70710678119f);
}

template <class Vec>
[[gnu::always_inline]] inline Vec gelu_10(Vec x) {
  return max(-10.0f, min(10.0f, gelu(x)));
}

template <class Vec>
[[gnu::always_inline]] inline Vec quick_gelu(Vec x) {
  return x / (1.0f + exp(-1.702f * x));
}

template <class Vec>
[[gnu::always_inline]] inline Vec relu(Vec x) {
  return max(0.0f, x);
}

template <class Vec>
[[gnu::always_inline]] inline Vec relu2(Vec x) {
  return relu(x) * relu(x);
}

template <class Vec>
[[gnu::always_inline]] inline Vec relu6(Vec x) {
  return min(6.0f, relu(x));
}

template <class Vec>
[[gnu::always_inline]] inline Vec silu(Vec x) {
  return x / (1.0f + exp(0.0f - x));
}

/// x tanh(ln(1 + e)) with e = e^x. It is computed as x w / (w + 2) with w = e (e + 2). From x = 20
/// on, the quotient w / (w + 2) is 1 in f32.
template <class Vec>
[[gnu::always_inline]] inline Vec mish(Vec x) {
  const Vec e = exp(min(20.0f, x));
  const Vec w = e * (e + 2.0f);
  return x * (w / (w + 2.0f));
}

/// The distribution function of a normal variable with the mean sqrt(1/2) and the standard
/// deviation 0.282095.
template <class Vec>
[[gnu::always_inline]] inline Vec laplace(Vec x) {
  const Vec deviations = (x - 0.707107f) / 0.282095f;
  return half_one_plus_erf(deviations * 0.70710678119f);
}

template <class Vec>
[[gnu::always_inline]] inline Vec hardswish(Vec x) {
  return x * (relu6(x + 3.0f) / 6.0f);
}

template <class Vec>
[[gnu::always_inline]] inline Vec leaky_relu(Vec x) {
  return select_less(x, 0.0f, 0.01f * x, x);
}

/// sqrt(ln(1 + e^x)). With e = e^-|x| and q = ln(1 + e) / e, this is sqrt(x + e q) for positive x
/// and e^(x / 2) sqrt(q) for negative x, where e^x may be too small for a float. `kept` is what the
/// sum 1 + e has kept of e, so that the quotient is accurate although the sum is rounded.
template <class Vec>
[[gnu::always_inline]] inline Vec sqrtsoftplus(Vec x) {
  const Vec e = exp(0.0f - abs(x));
  const Vec sum = 1.0f + e;
  const Vec kept = sum - 1.0f;
  const Vec q = select_less(0.0f, kept, log(sum) / kept, 1.0f);
  const Vec square = select_less(x, 0.0f, q, fma(e, q, x));
  const Vec root = exp(0.5f * log(square));  // and a step of Newton's method
  return 0.5f * (root + square / root) * exp(0.5f * min(0.0f, x));
}

template <class Vec, Vec (*kFunction)(Vec)>
[[gnu::flatten]] void activate(float* y, std::size_t n) noexcept {
  for_each_vec_once<Vec>(n, [&](std::size_t i, auto lanes) {
    store(y + i, kFunction(load<Vec>(y + i, lanes)), lanes);
  });
}

}  // namespace gpt2
