#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace gpt2::test {

/// Returns the bytes of mapped files that this process has in memory now.
inline std::size_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "RssFile:" && status >> kib) return kib << 10;
  }
  return 0;
}

}  // namespace gpt2::test
