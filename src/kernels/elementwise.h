#pragma once

#include "kernels/vec_math.h"

namespace gpt2 {

template <class Vec>
void add(float* y, const float* x, std::size_t n) noexcept {
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    store(y + i, load<Vec>(y + i, lanes) + load<Vec>(x + i, lanes), lanes);
  });
}

template <class Vec, class Stored>
void widen(float* y, const void* x, std::size_t n) noexcept {
  const Stored* const stored = static_cast<const Stored*>(x);
  for_each_vec<Vec>(
      n, [&](std::size_t i, auto lanes) { store(y + i, load<Vec>(stored + i, lanes), lanes); });
}

template <class Vec>
void narrow_f16(void* y, const float* x, std::size_t n) noexcept {
  F16* const stored = static_cast<F16*>(y);
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec value = load<Vec>(x + i, lanes);
    const Vec clamped = min(Vec(65504.0f), max(Vec(-65504.0f), value));
    const Vec magnitude = from_bits(bits_of(value) & 0x7fffffff);
    store(stored + i, select_less(magnitude, Vec(__builtin_inff()), clamped, value), lanes);
  });
}

/// Returns the max of x[0 ... n). A NaN never becomes the max, because it is not greater than
/// anything.
template <class Vec>
float max_of(const float* x, std::size_t n) {
  Vec largest = -__builtin_inff();
  for_each_vec<Vec>(n, [&](std::size_t i, auto lanes) {
    largest = max(load<Vec>(x + i, lanes, -__builtin_inff()), largest);
  });
  return reduce_max(largest);
}

template <class Vec>
std::size_t argmax(const float* x, std::size_t n) noexcept {
  // This finds the max block by block, and remembers the first block that has it. Only that block
  // is then searched for the index. 512 floats are few to search one by one, and enough that the
  // work for each block (a reduction and a comparison) costs little.
  constexpr std::size_t kSearched = 512;
  float largest = -__builtin_inff();
  std::size_t index = 0;
  for (std::size_t begin = 0; begin < n; begin += kSearched) {
    const std::size_t count = min(kSearched, n - begin);
    const float block_max = max_of<Vec>(x + begin, count);
    if (block_max > largest) {
      largest = block_max;
      index = begin;
    }
  }
  if (largest > -__builtin_inff()) {
    while (x[index] != largest) ++index;
  }
  return index;
}

template <class Vec>
float exp_sum(float* y, const float* x, float max, std::size_t n) noexcept {
  Vec sum = 0.0f;
  for_each_vec_once<Vec>(n, [&](std::size_t i, auto lanes) {
    const Vec e = exp(load<Vec>(x + i, lanes, -__builtin_inff()) - max);
    store(y + i, e, lanes);
    sum = sum + e;
  });
  return reduce_add(sum);
}

}  // namespace gpt2
