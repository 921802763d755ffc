#include <cstdlib>

#include "base/places.h"

namespace gpt2 {

std::filesystem::path home_directory() {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

}  // namespace gpt2
