#include "base/places.h"

#include <cstdlib>
#include <system_error>

namespace gpt2 {

std::filesystem::path home_directory() {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace gpt2
