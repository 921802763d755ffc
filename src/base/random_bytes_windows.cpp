#define _CRT_RAND_S  // declares rand_s
#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "base/random_bytes.h"

namespace gpt2 {

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    unsigned int bits = 0;
    if (rand_s(&bits) != 0) return false;
    const std::size_t count = std::min(bytes.size(), sizeof bits);
    std::memcpy(bytes.data(), &bits, count);
    bytes = bytes.subspan(count);
  }
  return true;
}

}  // namespace gpt2
