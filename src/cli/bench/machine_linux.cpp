#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "cli/bench/machine.h"
#include "gpt2/runtime.h"

namespace gpt2::cli {

std::optional<double> busy_seconds_of_system() {
  const std::vector<int> cpus = available_cpus();
  std::ifstream file("/proc/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return busy_seconds(text, static_cast<double>(sysconf(_SC_CLK_TCK)),
                      [&](int cpu) { return std::binary_search(cpus.begin(), cpus.end(), cpu); });
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace gpt2::cli
