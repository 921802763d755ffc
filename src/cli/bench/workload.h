#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "gpt2/engine.h"
#include "measure/limit_meter.h"

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// A kind of work that gpt2 bench times: `passes` forward passes, each over `sequences` texts at
/// once. Each text has `context` tokens beforehand and gets `tokens` more in every pass.
struct Workload {
  const char* name;
  const char* phase;  ///< "prompt" or "decode"
  std::size_t sequences, context, tokens, passes;

  /// The number of positions that each text needs.
  [[nodiscard]] std::size_t length() const { return context + tokens * passes; }
};

[[nodiscard]] std::span<const Workload> workloads();

/// The minimum work that all passes of a workload take together.
[[nodiscard]] Work work_of(const Workload& workload, const Engine& engine);

/// Times a workload `repetitions` times, and returns an element of "measurements" in the JSON of
/// gpt2 bench: the median, min and max speed, and the median share of the machine's limits, which
/// `meter` measures between the repetitions. If the model has too few positions for the workload,
/// the row has a note about this instead.
[[nodiscard]] Json measure(const Workload& workload, const Engine& engine, LimitMeter& meter,
                           std::size_t repetitions);

}  // namespace gpt2::cli
