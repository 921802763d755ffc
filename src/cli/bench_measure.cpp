#include "cli/bench_measure.h"

#include <chrono>

#include "cli/console.h"
#include "cli/elapsed.h"
#include "cli/machine.h"
#include "cli/repetition.h"

namespace gpt2::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Times runs one after another, and measures the machine's limits between them.
class Timer {
 public:
  Timer(WorkloadTexts& texts, LimitMeter& meter, const Load& load)
      : texts_(texts), meter_(meter), load_(load), use_(cpu_use()), limit_(meter.measure()) {}

  Attempt attempt() {
    Run run{.limit_before = limit_, .limit_after = {}, .before = use_, .after = {}};
    texts_.run();  // warm up: loads the data of the run into the caches that can hold it
    const double switches = forced_switches();
    const auto start = Clock::now();
    texts_.run();
    run.seconds = seconds_since(start);
    run.switches = forced_switches() - switches;
    use_ = cpu_use();
    limit_ = meter_.measure();
    run.limit_after = limit_;
    run.after = cpu_use();
    return judge(load_, run);
  }

 private:
  WorkloadTexts& texts_;
  LimitMeter& meter_;
  Load load_;
  CpuUse use_;  // the reading before the latest measurement of the limits
  Work limit_;
};

}  // namespace

Json measure(const Workload& workload, const Engine& engine, LimitMeter& meter,
             std::size_t repetitions) {
  const std::size_t tokens = workload.tokens * workload.passes;  // for each text
  Json row = {{"workload", workload.name},
              {"phase", workload.phase},
              {"sequences", workload.sequences},
              {"tokens", tokens},
              {"context", workload.context}};
  const std::size_t n_positions = engine.model().config().n_positions;
  if (workload.length() > n_positions) {
    row["skipped"] =
        format("needs %zu positions, but the model has %zu", workload.length(), n_positions);
    return row;
  }
  const Load load{.work = work_of(workload, engine),
                  .tokens = static_cast<double>(workload.sequences * tokens),
                  .threads = engine.threads(),
                  .available = usable_cpus()};
  WorkloadTexts texts(workload, engine);
  Timer timer(texts, meter, load);
  std::size_t attempts = 0;
  const Summary found = summarize(repeat(repetitions, attempts, [&] { return timer.attempt(); }));
  const double runs_per_s = found.tokens_per_s / load.tokens;
  row.update({{"tokens_per_s", found.tokens_per_s},
              {"min", found.min},
              {"max", found.max},
              {"bytes_per_s", load.work.bytes * runs_per_s},
              {"flop_per_s", load.work.flop * runs_per_s},
              {"int8_op_per_s", load.work.int8_ops * runs_per_s},
              {"of_limit", found.of_limit},
              {"limit", found.by_memory ? "memory" : "arithmetic"},
              {"busy", found.busy},
              {"attempts", attempts},
              {"disturbed", found.disturbed}});
  // A share above 1 shows that the limit was measured too low.
  if (found.of_limit > 1.0) row["of_limit"] = nullptr;
  return row;
}

}  // namespace gpt2::cli
