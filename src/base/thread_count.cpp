#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <thread>
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

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  std::set<std::pair<int, int>> cores;  // (package, core); equal for the hyperthreads of a core
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
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
int thread_count() {
  static std::atomic<int> count{0};
  if (const int known = count.load(std::memory_order_relaxed); known > 0) return known;
  const int cores = affinity_cores();
  const double quota = cgroup_quota();
  const int found = quota > 0.0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
  count.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace gpt2
