#include "cli/bench/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "gpt2/runtime.h"

namespace gpt2::cli {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::optional<double> busy_seconds(std::string_view proc_stat, double ticks,
                                   const std::function<bool(int cpu)>& is_usable) {
  std::istringstream lines{std::string(proc_stat)};
  double busy = 0.0;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    int cpu = 0;
    if (!name.starts_with("cpu") || !(std::istringstream(name.substr(3)) >> cpu)) continue;
    double user = 0.0, nice = 0.0, system = 0.0, idle = 0.0, disk = 0.0;
    if (!is_usable(cpu) || !(fields >> user >> nice >> system >> idle >> disk)) continue;
    double irq = 0.0, softirq = 0.0, steal = 0.0;  // stay 0 if an old kernel lacks these fields
    fields >> irq >> softirq >> steal;
    busy += user + nice + system + irq + softirq + steal;
    found = true;
  }
  return found ? std::optional(busy / ticks) : std::nullopt;
}

CpuUse cpu_use() {
  const std::vector<int> cpus = available_cpus();
  std::ifstream file("/proc/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  rusage own = {};
  getrusage(RUSAGE_SELF, &own);
  const double own_seconds = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
  const auto busy = busy_seconds(text, static_cast<double>(sysconf(_SC_CLK_TCK)), [&](int cpu) {
    return std::binary_search(cpus.begin(), cpus.end(), cpu);
  });
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return {.seconds = now.count(),
          .all_seconds = busy.value_or(own_seconds),
          .own_seconds = own_seconds};
}

double forced_switches() {
  rusage own = {};
  getrusage(RUSAGE_SELF, &own);
  return static_cast<double>(own.ru_nivcsw);
}

Cpus usable_cpus() {
  const int cpus = static_cast<int>(available_cpus().size());
  int shares_cores = 0;
  std::ifstream("/sys/devices/system/cpu/smt/active") >> shares_cores;
  return {.cpus = std::max(1, cpus), .cores = std::max(1, shares_cores == 1 ? cpus / 2 : cpus)};
}

double share_of_others(const CpuUse& before, const CpuUse& after, int cpus) {
  const double others =
      (after.all_seconds - before.all_seconds) - (after.own_seconds - before.own_seconds);
  const double total = cpus * (after.seconds - before.seconds);
  return total > 0.0 ? std::clamp(others / total, 0.0, 1.0) : 0.0;
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

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace gpt2::cli
