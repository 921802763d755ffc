#pragma once

#include "kernels/lanes.h"

// Loops that measure how fast the machine can read memory and compute. Each loop does nothing else.
// The loops that compute have more independent chains of operations than the product of an
// operation's latency and throughput, so that the execution units are never idle. The chains start
// from different values, so that the compiler cannot merge them.

namespace gpt2 {

// Reads x as kStreams streams, a few cache lines of each at a time. Which number of streams is the
// fastest depends on the machine, on the number of threads that read, and on whether x lies in a
// cache. Several streams keep more memory channels busy; one or a few suit the prefetchers of a
// single core. A single thread reads hundreds of megabytes about 5 % faster in one or four streams
// than in eight.
template <class Vec, std::size_t kStreams>
float read_limit(const float* x, std::size_t n) noexcept {
  constexpr std::size_t kVecs = 4;  // 4 cache lines of a stream, added up in 4 independent sums
  Vec sum[kVecs] = {};
  for (std::size_t i = 0; i < n / kStreams; i += kVecs * kLanes) {
#pragma GCC unroll 8
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const float* const at = x + stream * (n / kStreams) + i;
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kVecs; ++j) sum[j] = sum[j] + Vec::load(at + j * kLanes);
    }
  }
  return reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/// Computes sum = step(sum) `count` times in all, spread over as many chains as a tile has sums,
/// because these are about as many as fit the registers. Returns the sum of all chains.
template <class Sum, class Step>
[[gnu::always_inline]] inline Sum run_chains(std::size_t count, const Step& step) {
  constexpr std::size_t kChains = Sum::kTileRows * Sum::kTileVecs;
  Sum sum[kChains];
  for (std::uint16_t j = 0; j < kChains; ++j) sum[j] = j;
  for (std::size_t i = 0; i < count; i += 4 * kChains) {
#pragma GCC unroll 4
    for (std::size_t repeat = 0; repeat < 4; ++repeat) {
#pragma GCC unroll 32
      for (std::size_t j = 0; j < kChains; ++j) sum[j] = step(sum[j]);
    }
  }
  for (std::size_t j = 1; j < kChains; ++j) sum[0] = sum[0] + sum[j];
  return sum[0];
}

template <class Vec>
float fma_limit(std::size_t count) noexcept {
  return reduce_add(run_chains<Vec>(count, [](Vec sum) { return fma(sum, 0.5f, 1.0f); }));
}

template <class Vec>
float dot_limit(std::size_t count) noexcept {
  using Int = typename Vec::Integer;
  const Int x = 0xff01ff01u;  // 1, -1, 1, -1
  return reduce_add(to_float(run_chains<Int>(count, [&](Int sum) { return dot(sum, x, sum); })));
}

}  // namespace gpt2
