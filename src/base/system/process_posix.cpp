#include "base/system/process.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>

namespace gpt2 {

int process_id() noexcept { return getpid(); }

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  return getentropy(bytes.data(), bytes.size()) == 0;
}

const char* const kHomeVariable = "HOME";

std::filesystem::path path_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path home_directory() { return path_in_environment(kHomeVariable); }

}  // namespace gpt2
