#pragma once

#include <cstdint>
#include <random>

namespace gpt2 {

/// 64 bits that nobody can foresee: the key of a hash table, so that no file can be made whose
/// entries all fall into one place of it. Results must not depend on it.
[[nodiscard]] inline std::uint64_t new_secret() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace gpt2
