#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/session.h"
#include "measure/limit_meter.h"

namespace gpt2::cli {

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

/// The texts of a workload. Their context is already in the sessions' caches.
class WorkloadTexts {
 public:
  /// REQUIRES: the model has workload.length() positions or more.
  WorkloadTexts(const Workload& workload, const Engine& engine);

  /// Runs all passes. Every call starts from the same context.
  void run();

 private:
  Workload workload_;
  std::vector<TokenId> ids_;  // all 0, because the time does not depend on the tokens
  std::vector<float> logits_;
  std::vector<Session> sessions_;
  std::vector<Slice> slices_;
};

}  // namespace gpt2::cli
