#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cli/bench/machine.h"
#include "measure/limit_meter.h"

// The evaluation of timed runs in gpt2 bench, on a machine that other programs use as well. No
// function here reads a clock, so that a test can supply the measurements.

namespace gpt2::cli {

/// One timed run, and the measurements before and after it.
struct Run {
  double seconds = 0.0;   ///< how long the run took
  double switches = 0.0;  ///< involuntary context switches of this process during the run
  Work limit_before, limit_after;
  CpuUse before, after;  ///< read before the first and after the second of these measurements
};

/// The facts that are the same for all runs of a workload.
struct Load {
  Work work;            ///< the minimum work of one run
  double tokens = 0.0;  ///< the number of tokens of one run
  int threads = 1;      ///< the number of threads that the limits were measured with
  Cpus available = {};  ///< the CPUs that this process may use
};

/// The speed of a run.
struct Attempt {
  double tokens_per_s = 0.0;
  double of_limit = 0.0;  ///< the share of the machine's limit that the run reached
  bool by_memory = true;  ///< whether reading memory sets that limit, rather than arithmetic
  double busy = 0.0;      ///< the share of the CPU time that others took
  bool is_disturbed = false;
};

/// Returns the middle one of the values; of an even number, the lower middle one. REQUIRES a value.
[[nodiscard]] double median(std::vector<double> values);

/// Computes the speed of a run and compares it with the machine's limit. There are two kinds of
/// work: reading memory and arithmetic. The limit for each kind is the larger of the speeds
/// measured right before and right after the run. The kind of work that would take longer at its
/// limit determines the limit of the run.
///
/// A run is disturbed, so that its speed is not a measure of the engine, if
///   - the threads (at most one for each core) and the other programs together need more cores than
///     there are, even if only by a fraction of one core, because a thread that loses its core
///     holds up all the other threads;
///   - its threads had to leave their cores more often than the system itself makes them, which is
///     about 12 times a second for each thread; this is not checked if there are more threads than
///     cores, because these take turns anyway;
///   - the limit of the run changed by more than a fifth between the two measurements;
///   - the run was faster than the limit, because the machine was slower during both measurements.
[[nodiscard]] Attempt judge(const Load& load, const Run& run);

/// Calls `attempt` until it has returned `repetitions` undisturbed runs, but at most
/// 2 * repetitions times. Returns `repetitions` runs: the undisturbed ones and, if these are too
/// few, those disturbed ones during which others took the least CPU time. Adds the number of calls
/// to `attempts`.
[[nodiscard]] std::vector<Attempt> repeat(std::size_t repetitions, std::size_t& attempts,
                                          const std::function<Attempt()>& attempt);

/// The numbers that are printed for a workload. The median of an even number of values is the lower
/// of the two in the middle.
struct Summary {
  double tokens_per_s = 0.0, min = 0.0, max = 0.0;  ///< the median and the extremes
  double of_limit = 0.0;                            ///< the median
  bool by_memory = true;                            ///< whether memory limits most of the attempts
  double busy = 0.0;                                ///< the mean
  std::size_t disturbed = 0;                        ///< how many attempts were disturbed
};

/// Summarizes the runs that repeat() returned. REQUIRES: attempts is not empty.
[[nodiscard]] Summary summarize(std::span<const Attempt> attempts);

}  // namespace gpt2::cli
