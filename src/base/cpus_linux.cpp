#include "base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "base/control_groups.h"

namespace gpt2 {

CpuSet cpus_of_thread() noexcept {
  static_assert(CpuSet().size() == CPU_SETSIZE);
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuSet cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) cpus[cpu] = CPU_ISSET(cpu, &set);
  return cpus;
}

int cores_of(const std::vector<int>& cpus) {
  std::set<std::pair<int, int>> cores;  // (package, core); equal for the hyperthreads of a core
  for (const int cpu : cpus) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    int package = 0;
    int core = cpu;
    std::ifstream(topology + "physical_package_id") >> package;
    if (!(std::ifstream(topology + "core_id") >> core)) core = cpu;
    cores.emplace(package, core);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

double cpu_quota() {
  double least = 0.0;
  for (const std::string& group : control_groups("cpu")) {
    double quota = 0.0, period = 0.0;
    // cpu.max belongs to version 2 of control groups, and contains "max" if there is no limit.
    if (!(std::ifstream(group + "/cpu.max") >> quota >> period)) {
      std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
      std::ifstream(group + "/cpu.cfs_period_us") >> period;
    }
    if (quota <= 0.0 || period <= 0.0) continue;
    least = least == 0.0 ? quota / period : std::min(least, quota / period);
  }
  return least;
}

}  // namespace gpt2
