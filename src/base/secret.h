#pragma once

#include <cstdint>
#include <random>

namespace gpt2 {

/// 64 random bits, as the key of a hash table: nobody can make a file whose entries all collide in
/// the table. Results must not depend on it.
[[nodiscard]] inline std::uint64_t new_secret() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace gpt2
