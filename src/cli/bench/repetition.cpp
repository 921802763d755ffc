#include "cli/bench/repetition.h"

#include <algorithm>

namespace gpt2::cli {
namespace {

constexpr double kSpread = 0.2;              // the share by which a limit may change around a run
constexpr double kSwitchesPerSecond = 12.0;  // how often the system itself preempts a thread

// Returns whether the threads and the other programs together need more cores than there are.
// Tolerates a tenth of a core and 1 % of the threads' time, for the system and because the times in
// /proc/stat are inexact.
bool is_crowded(const Load& load, double busy) {
  const double cores = load.available.cores;
  const double wanted = std::min<double>(load.threads, cores);
  return wanted + busy * load.available.cpus > cores + 0.1 + 0.01 * wanted;
}

// Returns whether the threads had to leave their cores more often than the system itself causes.
bool is_switched(const Load& load, const Run& run) {
  if (load.threads > load.available.cores) return false;  // they take turns anyway
  return run.switches > 1.0 + kSwitchesPerSecond * load.threads * run.seconds;
}

bool is_unsteady(double before, double after) {
  return std::min(before, after) < (1.0 - kSpread) * std::max(before, after);
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

Attempt judge(const Load& load, const Run& run) {
  const Work& before = run.limit_before;
  const Work& after = run.limit_after;
  const double reading = load.work.bytes / std::max(before.bytes, after.bytes);
  const double computing = load.work.flop / std::max(before.flop, after.flop) +
                           load.work.int8_ops / std::max(before.int8_ops, after.int8_ops);
  Attempt attempt{.tokens_per_s = load.tokens / run.seconds,
                  .of_limit = std::max(reading, computing) / run.seconds,
                  .by_memory = reading > computing,
                  .busy = share_of_others(run.before, run.after, load.available.cpus)};
  const bool is_limit_unsteady =
      attempt.by_memory
          ? is_unsteady(before.bytes, after.bytes)
          : is_unsteady(before.flop, after.flop) ||
                (load.work.int8_ops > 0.0 && is_unsteady(before.int8_ops, after.int8_ops));
  attempt.is_disturbed = is_crowded(load, attempt.busy) || is_switched(load, run) ||
                         is_limit_unsteady || attempt.of_limit > 1.0;
  return attempt;
}

std::vector<Attempt> repeat(std::size_t repetitions, std::size_t& attempts,
                            const std::function<Attempt()>& attempt) {
  std::vector<Attempt> undisturbed;
  std::vector<Attempt> disturbed;
  for (std::size_t i = 0; i < 2 * repetitions && undisturbed.size() < repetitions; ++i) {
    const Attempt next = attempt();
    (next.is_disturbed ? disturbed : undisturbed).push_back(next);
  }
  attempts += undisturbed.size() + disturbed.size();
  std::ranges::stable_sort(disturbed, {}, &Attempt::busy);
  disturbed.resize(repetitions - undisturbed.size());
  undisturbed.insert(undisturbed.end(), disturbed.begin(), disturbed.end());
  return undisturbed;
}

Summary summarize(std::span<const Attempt> attempts) {
  std::vector<double> rates;
  std::vector<double> shares;
  Summary summary;
  for (const Attempt& attempt : attempts) {
    rates.push_back(attempt.tokens_per_s);
    shares.push_back(attempt.of_limit);
    summary.busy += attempt.busy / static_cast<double>(attempts.size());
    summary.disturbed += attempt.is_disturbed;
  }
  summary.tokens_per_s = median(rates);
  summary.min = std::ranges::min(rates);
  summary.max = std::ranges::max(rates);
  summary.of_limit = median(shares);
  summary.by_memory =
      2 * std::ranges::count(attempts, true, &Attempt::by_memory) > std::ssize(attempts);
  return summary;
}

}  // namespace gpt2::cli
