#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cli/limits.h"
#include "gpt2/model.h"
#include "gpt2/session.h"

namespace gpt2::cli {

/// What gpt2 bench times: `passes` forward passes over `sequences` texts at once. Each text has
/// `context` tokens beforehand and gets `tokens` more in every pass.
struct Workload {
  const char* name;
  const char* phase;  ///< "prompt" or "decode"
  std::size_t sequences, context, tokens, passes;

  /// Positions that each text needs.
  [[nodiscard]] std::size_t length() const { return context + tokens * passes; }
};

[[nodiscard]] std::span<const Workload> workloads();

/// What a workload takes at least, all passes together.
[[nodiscard]] Work work_of(const Workload& workload, const Model& model);

/// The texts of a workload, with their context read.
class WorkloadTexts {
 public:
  /// `threads` as in EngineOptions. REQUIRES: the model has workload.length() positions.
  WorkloadTexts(const Workload& workload, const Model& model, int threads);

  /// Makes the passes, from the same context each time.
  void run();

 private:
  Workload workload_;
  std::vector<TokenId> ids_;  // all 0: the time does not depend on the tokens
  std::vector<float> logits_;
  std::vector<Session> sessions_;
  std::vector<Slice> slices_;
};

}  // namespace gpt2::cli
