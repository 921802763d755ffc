#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cli/score_records.h"
#include "gpt2/engine.h"

namespace gpt2::cli {

/// A line of `gpt2 batch` to be scored: a text, or a context with choices.
struct ScoreRequest {
  std::vector<TokenId> text = {};  ///< empty if there is a question
  std::optional<ChoiceQuestion> question = {};
  ScoreOptions options = {};  ///< the options for scoring a text
  bool with_logprobs = false;

  [[nodiscard]] std::size_t tokens() const { return question ? size_of(*question) : text.size(); }

  /// Whether score_requests() can score both in one call.
  [[nodiscard]] bool has_same_options(const ScoreRequest& other) const;
};

/// Reads a line with "text" or with "choices". `top_logprobs` is --logprobs, the default of
/// "logprobs". Throws Error for a line that cannot be scored.
[[nodiscard]] ScoreRequest read_score_request(Members& members, const TokenReader& reader,
                                              const Config& config,
                                              std::optional<std::size_t> top_logprobs);

/// Scores the requests together and returns the members of their records, in order. Returns nothing
/// if interrupted() becomes true meanwhile. Throws Error if the log-probabilities are not finite.
/// REQUIRES: there is a request; all of them have the same options.
[[nodiscard]] std::vector<Json> score_requests(const Engine& engine, const ScoreRecords& records,
                                               std::span<const ScoreRequest* const> requests);

}  // namespace gpt2::cli
