#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace gpt2 {

/// A 64-bit hash of bytes, for finding accidental differences. It is easy to make other bytes with
/// the same hash on purpose. FNV-1a over 32-bit words in sixteen interleaved lanes, the lanes then
/// hashed in order. Every step is a bijection of the lane, so that a change of one word always
/// changes the hash.
class Hash {
 public:
  Hash() noexcept { std::fill_n(lanes_, kLanes, kBasis); }

  /// Goes on with these bytes. Calls divide the bytes in any way, as long as each but the last has
  /// a multiple of four. (The last word is filled with zeros.)
  void add(Bytes bytes) noexcept {
    std::size_t at = 0;
    while (at < bytes.size() && words_ % kLanes != 0) at += add_word(bytes.subspan(at));
    for (; at + kLanes * 4 <= bytes.size(); at += kLanes * 4, words_ += kLanes) {
      std::uint32_t group[kLanes];
      std::memcpy(group, bytes.data() + at, sizeof group);
      for (std::size_t i = 0; i < kLanes; ++i) lanes_[i] = (lanes_[i] ^ group[i]) * kPrime;
    }
    while (at < bytes.size()) at += add_word(bytes.subspan(at));
  }

  /// The hash of all bytes, going on from `hash`.
  [[nodiscard]] std::uint64_t value(std::uint64_t hash = 0) const noexcept {
    for (const std::uint64_t lane : lanes_) hash = (hash ^ lane) * kPrime;
    return hash;
  }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  static constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  static constexpr std::size_t kLanes = 16;

  // Adds the first word and returns the number of its bytes.
  std::size_t add_word(Bytes bytes) noexcept {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 4);
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data(), size);
    std::uint64_t& lane = lanes_[words_++ % kLanes];
    lane = (lane ^ word) * kPrime;
    return size;
  }

  std::uint64_t lanes_[kLanes];
  std::size_t words_ = 0;
};

/// Hashes the bits of floats, to compare two runs. Continues from `hash`.
inline std::uint64_t hash_floats(std::span<const float> values, std::uint64_t hash) {
  Hash floats;
  floats.add(std::as_bytes(values));
  return floats.value(hash);
}

}  // namespace gpt2
