#include <sys/random.h>

#include "base/random_bytes.h"

namespace gpt2 {

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  return getentropy(bytes.data(), bytes.size()) == 0;
}

}  // namespace gpt2
