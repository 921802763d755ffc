#include "base/places.h"

namespace gpt2 {

std::filesystem::path with_home(const std::filesystem::path& path) {
  if (path.empty() || *path.begin() != "~" || !path.has_parent_path()) return path;
  const std::filesystem::path home = home_directory();
  return home.empty() ? home : home / path.lexically_relative("~");
}

}  // namespace gpt2
