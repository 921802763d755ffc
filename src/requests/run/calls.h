#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/json_text.h"
#include "gpt2/engine.h"
#include "requests/read/text_requests.h"

// The runs of requests about texts that are not continued: each is one call of the library.

namespace gpt2 {

/// Scores the requests, in shared passes, and returns the result of each. Throws what score() and
/// score_choices() throw. REQUIRES: all of them have the same options.
[[nodiscard]] std::vector<ScoringResult> run_scoring(
    const Engine& engine, std::span<const ScoringRequest> requests,
    const std::function<void(double)>& progress = {});

/// Scores lines together and returns the scoring_json() of each. Throws what run_scoring() and
/// scoring_json() throw. REQUIRES: all lines have the same options.
[[nodiscard]] std::vector<Json> score_lines(const Engine& engine,
                                            const std::optional<Tokenizer>& tokenizer,
                                            std::span<const ScoringRequest> lines,
                                            const std::function<void(double)>& progress = {});

/// Inspects the text, and once more without the changes if there are any. `progress` is called as
/// that of InspectOptions. Throws what inspect() throws.
[[nodiscard]] InspectionResult run_inspection(const Engine& engine,
                                              const InspectionRequest& request,
                                              const std::function<void(double)>& progress = {});

}  // namespace gpt2
