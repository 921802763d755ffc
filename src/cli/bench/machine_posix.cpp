#include <sys/resource.h>

#include <chrono>

#include "cli/bench/machine.h"

namespace gpt2::cli {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

rusage own_use() {
  rusage own = {};
  getrusage(RUSAGE_SELF, &own);
  return own;
}

}  // namespace

CpuUse cpu_use() {
  const std::optional<double> busy = busy_seconds_of_system();
  const rusage own = own_use();
  const double own_seconds = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return {.seconds = now.count(),
          .all_seconds = busy.value_or(own_seconds),
          .own_seconds = own_seconds};
}

double forced_switches() { return static_cast<double>(own_use().ru_nivcsw); }

}  // namespace gpt2::cli
