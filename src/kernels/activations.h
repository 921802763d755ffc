#pragma once

#include "kernels/vec_math.h"

// The activation functions that HuggingFace names for GPT-2, each as a struct with one static
// function on a Vec.

namespace gpt2 {

/// x (1 + tanh u) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): the same function
/// without the cancellation of 1 + tanh u.
struct GeluNew {
  template <class Vec>
  static Vec apply(Vec x) {
    const Vec inner = fma(x * x, Vec::broadcast(0.044715f), Vec::broadcast(1.0f));
    const Vec minus_2u = Vec::broadcast(-1.5957691216f) * x * inner;
    return x / (Vec::broadcast(1.0f) + exp(minus_2u));
  }
};

struct Gelu {
  template <class Vec>
  static Vec apply(Vec x) {
    return x * half_one_plus_erf(x * Vec::broadcast(0.70710678119f));
  }
};

struct Gelu10 {
  template <class Vec>
  static Vec apply(Vec x) {
    return max(Vec::broadcast(-10.0f), min(Vec::broadcast(10.0f), Gelu::apply(x)));
  }
};

struct QuickGelu {
  template <class Vec>
  static Vec apply(Vec x) {
    return x / (Vec::broadcast(1.0f) + exp(Vec::broadcast(-1.702f) * x));
  }
};

struct Relu {
  template <class Vec>
  static Vec apply(Vec x) {
    return max(Vec::broadcast(0.0f), x);
  }
};

struct Relu2 {
  template <class Vec>
  static Vec apply(Vec x) {
    const Vec relu = Relu::apply(x);
    return relu * relu;
  }
};

struct Relu6 {
  template <class Vec>
  static Vec apply(Vec x) {
    return min(Vec::broadcast(6.0f), Relu::apply(x));
  }
};

struct Silu {
  template <class Vec>
  static Vec apply(Vec x) {
    return x / (Vec::broadcast(1.0f) + exp(Vec::broadcast(0.0f) - x));
  }
};

/// tanh(ln(1 + e)) = w / (w + 2) with w = e (e + 2), e = e^x. From 20 on the quotient is 1.
struct Mish {
  template <class Vec>
  static Vec apply(Vec x) {
    const Vec two = Vec::broadcast(2.0f);
    const Vec e = exp(min(Vec::broadcast(20.0f), x));
    const Vec w = e * (e + two);
    return x * (w / (w + two));
  }
};

struct Tanh {
  template <class Vec>
  static Vec apply(Vec x) {
    return tanh(x);
  }
};

struct Sigmoid {
  template <class Vec>
  static Vec apply(Vec x) {
    return sigmoid(x);
  }
};

/// The distribution function of a normal variable: mean sqrt(1/2), deviation 0.282095.
struct Laplace {
  template <class Vec>
  static Vec apply(Vec x) {
    const Vec deviations = (x - Vec::broadcast(0.707107f)) / Vec::broadcast(0.282095f);
    return half_one_plus_erf(deviations * Vec::broadcast(0.70710678119f));
  }
};

template <class Vec, class Function>
void activate(float* y, std::size_t n) noexcept {
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    store(y + i, Function::apply(load<Vec>(y + i, lanes)), lanes);
  });
}

}  // namespace gpt2
