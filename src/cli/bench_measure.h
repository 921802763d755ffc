#pragma once

#include <cstddef>

#include "cli/bench_report.h"
#include "cli/workload.h"
#include "gpt2/engine.h"
#include "measure/limit_meter.h"

namespace gpt2::cli {

/// Times a workload `repetitions` times, or up to twice as often if other programs disturb it, and
/// returns the row for bench_row(): the median, min and max speed, and the share of the machine's
/// limits, which `meter` measures between the repetitions. If the model has too few positions for
/// the workload, the row has a note about this instead.
[[nodiscard]] Json measure(const Workload& workload, const Engine& engine, LimitMeter& meter,
                           std::size_t repetitions);

}  // namespace gpt2::cli
