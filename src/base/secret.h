#pragma once

#include <cstdint>

#include "base/fail.h"
#include "base/random_bytes.h"

namespace gpt2 {

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
