#include <sys/sysctl.h>

#include <algorithm>

#include "base/cpus.h"

namespace gpt2 {

CpuSet cpus_of_thread() noexcept { return {}; }  // the system binds no thread to a CPU

int cores_of(const std::vector<int>& cpus) {
  int cores = 0;
  std::size_t size = sizeof cores;
  const bool is_known = sysctlbyname("hw.physicalcpu", &cores, &size, nullptr, 0) == 0;
  return std::clamp(is_known ? cores : 1, 1, std::max(1, static_cast<int>(cpus.size())));
}

double cpu_quota() { return 0.0; }

}  // namespace gpt2
