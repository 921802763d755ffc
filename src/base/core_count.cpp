#include "base/core_count.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

// Returns the CPU time that the control group allows, in cores, or 0 if there is no limit.
double cgroup_quota() {
  double quota = 0.0;
  double period = 0.0;
  // cpu.max belongs to version 2 of control groups, and contains "max" if there is no limit.
  if (!(std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period)) {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0.0 && period > 0.0 ? quota / period : 0.0;
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

}  // namespace

// The count is an atomic, and not a static variable that the first call initializes: if another
// thread were in that initialization during a fork(), the child process would wait for it forever.
int core_count() {
  static std::atomic<int> count{0};
  if (const int known = count.load(std::memory_order_relaxed); known > 0) return known;
  const int cores = cores_of(available_cpus());
  const double quota = cgroup_quota();
  const int found = quota > 0.0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
  count.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace gpt2
