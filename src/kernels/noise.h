#pragma once

#include "kernels/vec_math.h"

namespace gpt2 {

template <class Vec>
void philox(std::uint32_t* words, const std::uint32_t* blocks, std::size_t n,
            const PhiloxStream& stream) noexcept {
  using Int = typename Vec::Integer;
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  for_each_vec<Vec>(n, [&](std::size_t begin, auto lanes) {
    Int counter[4] = {load<Int>(blocks + begin, lanes), stream.position, low(stream.sequence),
                      low(stream.sequence >> 32)};
    std::uint32_t key[2] = {low(stream.seed), low(stream.seed >> 32)};
    for (int round = 0; round < 10; ++round) {
      constexpr std::uint32_t kFactor[2] = {0xD2511F53, 0xCD9E8D57};
      const Int next[4] = {
          high_product(counter[2], kFactor[1]) ^ counter[1] ^ key[0], counter[2] * kFactor[1],
          high_product(counter[0], kFactor[0]) ^ counter[3] ^ key[1], counter[0] * kFactor[0]};
      for (int i = 0; i < 4; ++i) counter[i] = next[i];
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    std::uint32_t word[4][kLanes];
    for (int i = 0; i < 4; ++i) counter[i].store(word[i]);
    const std::size_t count = min(kLanes, n - begin);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) words[4 * (begin + lane) + i] = word[i][lane];
    }
  });
}

template <class Vec>
void gumbel(float* y, const std::uint32_t* bits, std::size_t n) noexcept {
  using Int = typename Vec::Integer;
  for_each_vec_once<Vec>(n, [&](std::size_t i, auto lanes) {
    // The upper 23 bits become the mantissa of a number in [1, 2). Every step from there to u is
    // exact.
    const Int mantissa = shift_right<9>(load<Int>(bits + i, lanes)) & 0x7fffff;
    const Vec one_to_two = from_bits(mantissa | 0x3f800000);
    const Vec u = (one_to_two - 1.0f) + 0x1p-24f;
    store(y + i, 0.0f - log(0.0f - log(u)), lanes);
  });
}

}  // namespace gpt2
