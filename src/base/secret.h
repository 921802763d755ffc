#pragma once

#include <unistd.h>

#include <cstdint>

#include "base/fail.h"

namespace gpt2 {

/// 64 random bits, as the key of a hash table: nobody can make a file whose entries all collide in
/// the table. Results must not depend on it. Throws Error if the system gives none.
[[nodiscard]] inline std::uint64_t new_secret() {
  std::uint64_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0) {
    fail(ErrorCode::unsupported, "getentropy", "this system gives no random numbers");
  }
  return bits;
}

}  // namespace gpt2
