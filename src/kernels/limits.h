#pragma once

#include "kernels/lanes.h"

// What the machine can do at most: loops that do one thing only, in more independent chains than
// latency times throughput.

namespace gpt2 {

template <class Vec>
float read_limit(const float* x, std::size_t n) noexcept {
  constexpr std::size_t kStreams = 8;
  Vec sum[kStreams] = {};
  for (std::size_t i = 0; i + kStreams * kLanes <= n; i += kStreams * kLanes) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kStreams; ++j) sum[j] = sum[j] + Vec::load(x + i + j * kLanes);
  }
  Vec total = sum[0];
  for (std::size_t j = 1; j < kStreams; ++j) total = total + sum[j];
  return reduce_add(total);
}

template <class Vec>
float fma_limit(std::size_t rounds) noexcept {
  Vec sum[kLimitChains] = {};
  const Vec a = Vec::broadcast(0.5f);
  const Vec b = Vec::broadcast(1.0f);
  for (std::size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (std::size_t j = 0; j < kLimitChains; ++j) sum[j] = fma(sum[j], a, b);
  }
  Vec total = sum[0];
  for (std::size_t j = 1; j < kLimitChains; ++j) total = total + sum[j];
  return reduce_add(total);
}

template <class Vec>
float dot_limit(std::size_t rounds) noexcept {
  using Int = typename Vec::Integer;
  const std::int8_t four[4] = {1, -1, 1, -1};
  const Int x = Int::broadcast_bytes(four);
  Int sum[kLimitChains];
  for (std::size_t j = 0; j < kLimitChains; ++j) sum[j] = Int::broadcast(0);
  for (std::size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (std::size_t j = 0; j < kLimitChains; ++j) sum[j] = dot(sum[j], x, x);
  }
  Int total = sum[0];
  for (std::size_t j = 1; j < kLimitChains; ++j) total = total + sum[j];
  return reduce_add(to_float(total));
}

}  // namespace gpt2
