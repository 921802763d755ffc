#include "cli/bench/machine.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/team.h"
#include "cli/terminal/console.h"
#include "gpt2/runtime.h"

namespace gpt2::cli {

Cpus usable_cpus() {
  const int cpus = static_cast<int>(available_cpus().size());
  return {.cpus = std::max(1, cpus), .cores = core_count()};
}

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

double share_of_others(const CpuUse& before, const CpuUse& after, int cpus) {
  const double others =
      (after.all_seconds - before.all_seconds) - (after.own_seconds - before.own_seconds);
  const double total = cpus * (after.seconds - before.seconds);
  return total > 0.0 ? std::clamp(others / total, 0.0, 1.0) : 0.0;
}

std::string utc_now() {
  using namespace std::chrono;
  const auto now = floor<seconds>(system_clock::now());
  const year_month_day date(floor<days>(now));
  const hh_mm_ss time(now - floor<days>(now));
  return format("%04d-%02u-%02uT%02d:%02d:%02dZ", int{date.year()}, unsigned{date.month()},
                unsigned{date.day()}, static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
}

}  // namespace gpt2::cli
