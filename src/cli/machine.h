#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// CPU time since some moment in the past, for differences between two readings.
struct CpuUse {
  double seconds = 0.0;      ///< of the clock on the wall
  double all_seconds = 0.0;  ///< of the CPUs that this process may use: at work for anyone, the
                             ///< hypervisor's other guests included; not more precise than 10 ms
  double own_seconds = 0.0;  ///< of all threads of this process
};

[[nodiscard]] CpuUse cpu_use();

/// How often threads of this process had to leave a CPU, since it started, though they had more to
/// do (involuntary context switches).
[[nodiscard]] double forced_switches();

/// How many CPUs this process may use, and how many cores these are: half as many if two CPUs (the
/// hyperthreads) share a core.
struct Cpus {
  int cpus = 1;
  int cores = 1;
};

[[nodiscard]] Cpus usable_cpus();

/// The share, from 0 to 1, of the time of `cpus` CPUs that others took between two readings.
[[nodiscard]] double share_of_others(const CpuUse& before, const CpuUse& after, int cpus);

/// The seconds that CPUs were at work since the system started, from the text of /proc/stat, whose
/// unit is 1 / ticks seconds: all but idle time and time spent waiting for a disk, and with the
/// time that the hypervisor gave to other guests. Counts the CPUs for which is_usable returns true.
/// nullopt if the text tells nothing of them.
[[nodiscard]] std::optional<double> busy_seconds(std::string_view proc_stat, double ticks,
                                                 const std::function<bool(int cpu)>& is_usable);

/// The CPU's name as /proc/cpuinfo gives it, or "unknown" (as for most CPUs that are not x86).
[[nodiscard]] std::string cpu_name();

/// Now, in UTC, as ISO 8601: "2024-05-06T07:08:09Z"
[[nodiscard]] std::string utc_now();

}  // namespace gpt2::cli
