#pragma once

#include "kernels/lanes.h"

namespace gpt2 {

template <class Vec>
float mean_of(const float* x, std::size_t n) {
  Vec sum = Vec::broadcast(0.0f);
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) { sum = sum + load<Vec>(x + i, lanes); });
  return reduce_add(sum) / static_cast<float>(n);
}

// The variance takes a second pass over a row that is still in L1: E[x^2] - mean^2 would cancel
// where |mean| is large against the deviation, and it can come out negative.
template <class Vec>
float variance_of(const float* x, std::size_t n, float mean) {
  Vec sum = Vec::broadcast(0.0f);
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec deviation = load<Vec>(x + i, lanes, mean) - Vec::broadcast(mean);
    sum = fma(deviation, deviation, sum);
  });
  return reduce_add(sum) / static_cast<float>(n);
}

template <class Vec>
void layer_norm(float* y, const float* x, const float* weight, const float* bias, std::size_t n,
                float epsilon) noexcept {
  const float mean = mean_of<Vec>(x, n);
  const float variance = variance_of<Vec>(x, n, mean);
  const Vec rstd = Vec::broadcast(1.0f) / sqrt(Vec::broadcast(variance + epsilon));

  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec normalised = (load<Vec>(x + i, lanes) - Vec::broadcast(mean)) * rstd;
    const Vec scale = weight ? load<Vec>(weight + i, lanes) : Vec::broadcast(1.0f);
    const Vec shift = bias ? load<Vec>(bias + i, lanes) : Vec::broadcast(0.0f);
    store(y + i, fma(normalised, scale, shift), lanes);
  });
}

}  // namespace gpt2
