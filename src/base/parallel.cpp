#include "base/parallel.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

struct Region {
  const std::function<void(Team& team)>& body;
  Team::Shared shared;
  std::atomic<int> ended{0};
};

// `ended` repeats what OpenMP's fork and join guarantee, in words that ThreadSanitizer (which does
// not see into the OpenMP runtime) understands.
void run_member(Region& region, int rank, int size) {
  region.ended.load(std::memory_order_acquire);
  Team team(region.shared, rank, size);
  region.body(team);
  region.ended.fetch_add(1, std::memory_order_release);
}

// Not instrumented: the hand-over of `region` to the new threads happens inside the OpenMP runtime.
__attribute__((no_sanitize("thread"))) void fork_and_join(Region& region, int threads) {
  Region* const handed_over = &region;
#pragma omp parallel num_threads(threads) firstprivate(handed_over)
  run_member(*handed_over, omp_get_thread_num(), omp_get_num_threads());
}

// How many threads, up to `most`, can run at once: each starts the next one and waits for it.
int start_chain(int most) {
  int started = 1;
  try {
    if (most > 1) std::jthread([&] { started += start_chain(most - 1); }).join();
  } catch (...) {  // this thread is the last one
  }
  return started;
}

// The OpenMP runtime, which keeps the threads of each caller, ends the process where one of them
// cannot start: that is found out before.
int startable(int most) {
  static thread_local int tried = 1, started = 1;
  if (most > tried) {
    tried = most;
    started = start_chain(most);
    if (started < most) started = std::max(1, started - 1);  // others may start some meanwhile
  }
  return std::min(most, started);
}

// A quota of CPU time that the control group sets, in cores; 0 where there is none.
double cgroup_quota() {
  double quota = 0.0;
  double period = 0.0;
  if (!(std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period)) {  // version 2; "max": none
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
  std::set<std::pair<int, int>> cores;  // (package, core): hyperthread siblings share one
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

void Team::barrier() noexcept {
  if (size_ == 1) return;
  const unsigned phase = shared_.phase.load(std::memory_order_relaxed);
  if (shared_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    shared_.arrived.store(0, std::memory_order_relaxed);
    shared_.phase.store(phase + 1, std::memory_order_release);
    shared_.phase.notify_all();
    return;
  }
  // Where every thread has a core the wait is short, and sleep would make it long. On a busy
  // machine who sleeps gets the core back at once, who yields it only in turn. Threads without a
  // core of their own wait for one another: in turn is right.
  using Clock = std::chrono::steady_clock;
  const bool has_core = size_ <= thread_count();
  for (const auto end = Clock::now() + std::chrono::microseconds(200); Clock::now() < end;) {
    for (int spin = 0; spin < 16; ++spin) {
      if (shared_.phase.load(std::memory_order_acquire) != phase) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    if (!has_core) std::this_thread::yield();
  }
  shared_.phase.wait(phase, std::memory_order_acquire);
}

void parallel(int threads, const std::function<void(Team& team)>& body) {
  Region region{.body = body, .shared = {}};
  region.ended.store(0, std::memory_order_release);
  fork_and_join(region, startable(std::max(1, threads)));
  region.ended.load(std::memory_order_acquire);
}

int thread_count() {
  static const int count = [] {
    const int cores = affinity_cores();
    const double quota = cgroup_quota();
    return quota > 0.0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
  }();
  return count;
}

}  // namespace gpt2
