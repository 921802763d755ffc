#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// A reading of clocks and of CPU time. Only the differences between two readings are meaningful.
struct CpuUse {
  double seconds = 0.0;  ///< a monotonic wall clock

  /// The time for which the CPUs that this process may use were busy, whoever used them: this
  /// process, other programs, the kernel or the hypervisor's other guests. Precise to about 10 ms.
  double all_seconds = 0.0;

  double own_seconds = 0.0;  ///< the CPU time of all threads of this process
};

[[nodiscard]] CpuUse cpu_use();

/// The part of cpu_use() that differs between the systems of POSIX: CpuUse::all_seconds, or nothing
/// if the system does not say.
[[nodiscard]] std::optional<double> busy_seconds_of_system();

/// The number of involuntary context switches since this process started: how often one of its
/// threads had to leave a CPU although it had more to do.
[[nodiscard]] double forced_switches();

/// The number of CPUs that this process may use, and core_count(), which is at most the number of
/// physical cores that they belong to.
struct Cpus {
  int cpus = 1;
  int cores = 1;
};

[[nodiscard]] Cpus usable_cpus();

/// Returns the share, from 0 to 1, of the time of `cpus` CPUs that anything other than this process
/// took between two readings.
[[nodiscard]] double share_of_others(const CpuUse& before, const CpuUse& after, int cpus);

/// The seconds for which CPUs were busy since the system started, summed over the CPUs for which
/// is_usable returns true. Reads them from the text of /proc/stat, whose unit is 1 / ticks seconds.
/// Includes the time that the hypervisor gave to other guests; leaves out idle time and time spent
/// waiting for a disk. Returns nullopt if the text does not mention any of these CPUs.
[[nodiscard]] std::optional<double> busy_seconds(std::string_view proc_stat, double ticks,
                                                 const std::function<bool(int cpu)>& is_usable);

/// The CPU's name, or "unknown" if the system does not give one. Linux gives it only for x86 and
/// few other CPUs.
[[nodiscard]] std::string cpu_name();

/// The current time in UTC, in ISO 8601 format: "2024-05-06T07:08:09Z".
[[nodiscard]] std::string utc_now();

}  // namespace gpt2::cli
