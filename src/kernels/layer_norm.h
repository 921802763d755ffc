#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

template <class Vec>
float mean_of(const float* x, std::size_t n, float scaling) {
  Vec sum = Vec::broadcast(0.0f);
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    sum = fma(load<Vec>(x + i, lanes), Vec::broadcast(scaling), sum);
  });
  return reduce_add(sum) / static_cast<float>(n);
}

// The variance takes a second pass over a row that is still in L1: E[x^2] - mean^2 would cancel
// where |mean| is large against the deviation, and it can come out negative.
template <class Vec>
float variance_of(const float* x, std::size_t n, float mean, float scaling) {
  Vec sum = Vec::broadcast(0.0f);
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec deviation = fma(load<Vec>(x + i, lanes, mean / scaling), Vec::broadcast(scaling),
                              Vec::broadcast(-mean));
    sum = fma(deviation, deviation, sum);
  });
  return reduce_add(sum) / static_cast<float>(n);
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t n,
                float epsilon) noexcept {
  float scaling = 1.0f;
  float mean = mean_of<Vec>(x, n, scaling);
  float variance = variance_of<Vec>(x, n, mean, scaling);
  // Squares of deviations beyond 1e19 overflow f32, those below 1e-19 vanish in it: such a row is
  // normalised at another size.
  if (!(variance <= 0x1p127f) || variance + epsilon < 0x1p-100f) {
    scaling = variance < 1.0f ? 0x1p80f : 0x1p-80f;
    mean = mean_of<Vec>(x, n, scaling);
    variance = variance_of<Vec>(x, n, mean, scaling);
    // A row of equal values stays one: epsilon does not vanish.
    const float scaled_epsilon = epsilon * scaling * scaling;
    epsilon = epsilon > 0.0f && scaled_epsilon < 0x1p-126f ? 0x1p-126f : scaled_epsilon;
  }
  const Vec rstd = Vec::broadcast(1.0f) / sqrt(Vec::broadcast(variance + epsilon));

  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec deviation =
        fma(load<Vec>(x + i, lanes), Vec::broadcast(scaling), Vec::broadcast(-mean));
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : Vec::broadcast(1.0f);
    const Vec shift = bias ? load<Vec>(bias + i, lanes) : Vec::broadcast(0.0f);
    store(y + i, fma(deviation * rstd, scale, shift), lanes);
  });
}

}  // namespace gpt2
