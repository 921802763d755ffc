#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "base/system/machine.h"
#include "base/system/threads.h"
#include "base/team.h"
#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

constexpr int kMaxThreads = 1024;

std::vector<int> members(const CpuSet& set) {
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < set.size(); ++cpu) {
    if (set[cpu]) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

// Returns the CPUs that the calling thread may use.
std::vector<int> available_to_thread() {
  if (const CpuSet set = cpus_of_thread(); set.any()) return members(set);
  std::vector<int> cpus(std::max(1u, std::thread::hardware_concurrency()));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

// Returns the number that OMP_NUM_THREADS states, or 0 if it is not set or not valid. It may be a
// list of numbers, one for each level of nested regions. The first one counts here.
int number_in_environment() noexcept {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  while (std::isspace(static_cast<unsigned char>(*end))) ++end;
  const bool is_valid = number > 0 && (*end == '\0' || *end == ',');
  return is_valid ? static_cast<int>(std::min<long>(number, kMaxThreads)) : 0;
}

}  // namespace

// If OpenMP binds threads to places, it has bound the program's first thread, too, so the affinity
// of that thread is only a part of what the process may use.
std::vector<int> available_cpus() {
  std::vector<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cpus.insert(cpus.end(), ids.begin(), ids.end());
  }
  if (cpus.empty()) return available_to_thread();
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

// The count is an atomic, and not a static variable that the first call initializes: if another
// thread were in that initialization during a fork(), the child process would wait for it forever.
int core_count() {
  static std::atomic<int> count{0};
  if (const int known = count.load(std::memory_order_relaxed); known > 0) return known;
  const int cores = cores_of(available_cpus());
  const double quota = cpu_quota();
  const int found = quota > 0.0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
  count.store(found, std::memory_order_relaxed);
  return found;
}

int thread_count() {
  static std::atomic<int> count{0};  // not initialized by the first call, for the same reason as in
                                     // core_count()
  if (const int known = count.load(std::memory_order_relaxed); known > 0) return known;
  const int named = number_in_environment();
  const int found = std::clamp(named > 0 ? named : core_count(), 1, omp_get_thread_limit());
  count.store(found, std::memory_order_relaxed);
  return found;
}

std::string_view thread_count_source() {
  const int named = number_in_environment();
  if (thread_count() < (named > 0 ? named : core_count())) return "OMP_THREAD_LIMIT";
  return named > 0 ? "OMP_NUM_THREADS" : "cores";
}

std::vector<std::vector<int>> thread_cpus() {
  Team team(thread_count());
  team.await_helpers();
  const auto threads = static_cast<std::size_t>(team.size());
  std::vector<CpuSet> sets(threads);
  std::atomic<int> arrived{0};
  // No task ends before all have begun, so each thread takes one of them.
  team.for_each(threads, [&](std::size_t, int rank) {
    sets[static_cast<std::size_t>(rank)] = cpus_of_thread();
    arrived.fetch_add(1);
    wake_all(arrived);
    for (int now; (now = arrived.load()) < team.size();) wait_while(arrived, now);
  });
  std::vector<std::vector<int>> cpus(threads);
  std::transform(sets.begin(), sets.end(), cpus.begin(), members);
  return cpus;
}

}  // namespace gpt2
