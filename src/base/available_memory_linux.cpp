#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "base/control_groups.h"
#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

// Returns the number in a file, or SIZE_MAX if the file does not exist or has no number. (The file
// of a control group without a limit contains "max".)
std::size_t number_in(const std::string& file) {
  std::size_t number = 0;
  return std::ifstream(file) >> number ? number : SIZE_MAX;
}

std::size_t free_in_system() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return SIZE_MAX;
}

std::size_t free_in_group(const std::string& limit_file, const std::string& used_file) {
  const std::size_t limit = number_in(limit_file);
  const std::size_t used = number_in(used_file);
  return limit == SIZE_MAX || used == SIZE_MAX ? SIZE_MAX : limit - std::min(limit, used);
}

}  // namespace

std::size_t available_memory() {
  std::size_t least = free_in_system();
  for (const std::string& group : control_groups("memory")) {
    least = std::min({least, free_in_group(group + "/memory.max", group + "/memory.current"),
                      free_in_group(group + "/memory.limit_in_bytes",
                                    group + "/memory.usage_in_bytes")});
  }
  return least;
}

}  // namespace gpt2
