#include <cstdlib>

#include "base/places.h"

namespace gpt2 {

const char* const kHomeVariable = "HOME";

std::filesystem::path path_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path home_directory() { return path_in_environment(kHomeVariable); }

}  // namespace gpt2
