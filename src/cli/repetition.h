#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cli/limits.h"
#include "cli/machine.h"

// How gpt2 bench makes numbers of timed runs, on machines that other programs use as well. Nothing
// here looks at a clock.

namespace gpt2::cli {

/// One timed run and what was seen around it.
struct Run {
  double seconds = 0.0;   ///< that the run took
  double switches = 0.0;  ///< how often one of its threads had to leave its CPU meanwhile
  Work limit_before, limit_after;
  CpuUse before, after;  ///< read around the run and the two measurements of the limits
};

/// What is known of a workload whatever its runs take.
struct Load {
  Work work;            ///< of a run, at least
  double tokens = 0.0;  ///< of a run
  int threads = 1;      ///< that the limits were measured with
  Cpus available = {};  ///< to the process
};

/// A run as a speed.
struct Attempt {
  double tokens_per_s = 0.0;
  double of_limit = 0.0;  ///< the share of the larger limit that was reached
  bool by_memory = true;  ///< whether reading limits it, rather than arithmetic
  double busy = 0.0;      ///< the share of CPU time that others took
  bool is_disturbed = false;
};

/// A run's limit is the larger of those measured right before and after it, for each kind of work.
/// A run is disturbed, and its speed says little about the engine, if
///   - the threads, one a core, and the other programs need more cores than there are; less than
///     that would not do on a machine of many cores, for one thread that loses its core holds up
///     all others;
///   - its threads had to leave their cores more often than the system itself makes them, about
///     12 times a second each (unless there are more threads than cores, which take turns anyway);
///   - the limit that counts differs by more than a fifth between before and after;
///   - it exceeded the limit, because the machine was slower during both measurements.
[[nodiscard]] Attempt judge(const Load& load, const Run& run);

/// Calls `attempt` until it has returned `repetitions` runs that were not disturbed, but at most
/// twice as often. Returns `repetitions` of them: the undisturbed ones and, if these are too few,
/// those of the others during which the machine was least busy. Adds the calls to `attempts`.
[[nodiscard]] std::vector<Attempt> repeat(std::size_t repetitions, std::size_t& attempts,
                                          const std::function<Attempt()>& attempt);

/// What is printed of a workload.
struct Summary {
  double tokens_per_s = 0.0, min = 0.0, max = 0.0;  ///< median (of two the lower), and the extremes
  double of_limit = 0.0;                            ///< median
  bool by_memory = true;                            ///< of most
  double busy = 0.0;                                ///< mean
  std::size_t disturbed = 0;                        ///< how many of the attempts
};

/// REQUIRES: attempts is not empty.
[[nodiscard]] Summary summarize(std::span<const Attempt> attempts);

}  // namespace gpt2::cli
