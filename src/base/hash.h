#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/system/process.h"

namespace gpt2 {

/// The parameters of the 64-bit FNV-1a hash.
inline constexpr std::uint64_t kFnvPrime = 0x100000001b3, kFnvBasis = 0xcbf29ce484222325;

/// Returns the FNV-1a hash of the bytes, continued from `hash`.
[[nodiscard]] constexpr std::uint64_t hash_bytes(std::string_view bytes,
                                                 std::uint64_t hash = kFnvBasis) noexcept {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

/// Returns the hash as 16 hexadecimal digits.
[[nodiscard]] inline std::string hash_text(std::uint64_t hash) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

/// A 64-bit hash that detects accidental differences. It does not protect against deliberate ones,
/// because it is easy to construct other bytes with the same hash.
///
/// The algorithm is FNV-1a over 32-bit words in sixteen interleaved lanes. value() then hashes the
/// lanes in order. Every step is a bijection of its lane, so a change of one word always changes
/// the hash.
class Hash {
 public:
  Hash() noexcept { std::fill_n(lanes_, kLanes, kFnvBasis); }

  /// Appends these bytes to the input. REQUIRES: in every call but the last, the number of bytes is
  /// a multiple of four. The hash does not depend on how the input is divided among the calls. An
  /// incomplete last word is filled up with zeros.
  void add(Bytes bytes) noexcept {
    std::size_t at = 0;
    while (at < bytes.size() && words_ % kLanes != 0) at += add_word(bytes.subspan(at));
    for (; at + kLanes * 4 <= bytes.size(); at += kLanes * 4, words_ += kLanes) {
      std::uint32_t group[kLanes];
      std::memcpy(group, bytes.data() + at, sizeof group);
      for (std::size_t i = 0; i < kLanes; ++i) lanes_[i] = (lanes_[i] ^ group[i]) * kFnvPrime;
    }
    while (at < bytes.size()) at += add_word(bytes.subspan(at));
  }

  /// Returns the hash of all bytes that were added. To hash several inputs together, pass the
  /// result for the previous input as `hash`.
  [[nodiscard]] std::uint64_t value(std::uint64_t hash = 0) const noexcept {
    for (const std::uint64_t lane : lanes_) hash = (hash ^ lane) * kFnvPrime;
    return hash;
  }

 private:
  static constexpr std::size_t kLanes = 16;

  // Adds the first word of `bytes`, and returns how many bytes it has: 4, or fewer at the end.
  std::size_t add_word(Bytes bytes) noexcept {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 4);
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data(), size);
    std::uint64_t& lane = lanes_[words_++ % kLanes];
    lane = (lane ^ word) * kFnvPrime;
    return size;
  }

  std::uint64_t lanes_[kLanes];
  std::size_t words_ = 0;
};

/// Returns a hash of the bits of floats, continued from `hash`. All NaNs count as one, because
/// their bits differ between instruction sets.
inline std::uint64_t hash_floats(std::span<const float> values, std::uint64_t hash) {
  Hash floats;
  const auto is_nan = [](float value) { return value != value; };
  if (std::any_of(values.begin(), values.end(), is_nan)) {
    std::vector<float> copy(values.begin(), values.end());
    std::replace_if(copy.begin(), copy.end(), is_nan, std::numeric_limits<float>::quiet_NaN());
    floats.add(std::as_bytes(std::span(copy)));
  } else {
    floats.add(std::as_bytes(values));
  }
  return floats.value(hash);
}

/// Returns 64 random bits for use as the key of a hash table. Because the key is unpredictable,
/// nobody can make a file whose entries all collide in the table. Results must not depend on it.
/// Throws Error(unsupported) if the system provides no random numbers.
[[nodiscard]] inline std::uint64_t new_secret() {
  std::uint64_t bits = 0;
  if (!fill_with_random(std::as_writable_bytes(std::span(&bits, 1)))) {
    fail(ErrorCode::unsupported, "getentropy", "this system gives no random numbers");
  }
  return bits;
}

}  // namespace gpt2
