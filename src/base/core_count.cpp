#include "base/core_count.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/cpus.h"
#include "gpt2/runtime.h"

namespace gpt2 {

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

}  // namespace gpt2
