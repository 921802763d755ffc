#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpt2 {

/// A 64-bit hash of the bits of floats, for telling whether two runs computed the same: FNV-1a over
/// 32-bit words in sixteen interleaved lanes, the lanes then hashed in order. Goes on from `hash`.
inline std::uint64_t hash_floats(std::span<const float> values, std::uint64_t hash) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  constexpr std::size_t kWays = 16;
  std::uint64_t lane[kWays];
  for (std::size_t i = 0; i < kWays; ++i) lane[i] = kBasis;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t& h = lane[i % kWays];
    h = (h ^ std::bit_cast<std::uint32_t>(values[i])) * kPrime;
  }
  for (const std::uint64_t h : lane) hash = (hash ^ h) * kPrime;
  return hash;
}

}  // namespace gpt2
