#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "requests/members.h"
#include "cli/lines/records.h"
#include "cli/score/report.h"
#include "gpt2/engine.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// A line of `score` or `batch` to be scored: a text, or a context with choices.
struct ScoreRequest {
  std::vector<TokenId> text = {};  ///< empty if there is a question
  std::optional<ChoiceQuestion> question = {};
  ScoreOptions options = {};  ///< the options for scoring a text
  bool with_logprobs = false;

  /// The number of tokens of the text, or of the context and all choices.
  [[nodiscard]] std::size_t tokens() const;

  /// Whether score_requests() can score both in one call.
  [[nodiscard]] bool has_same_options(const ScoreRequest& other) const;
};

/// Throws Error unless a text has at least two tokens.
void check_scored_length(std::size_t tokens);

/// Thrown out of ScoreOptions::progress to end the work after an interrupt.
struct Interrupted {};

/// Reads "context" and "choices", which are texts or lists of token ids. Throws Error if the model
/// cannot score them.
[[nodiscard]] ChoiceQuestion read_question(Members& members, const TokenReader& reader,
                                           const Config& config);

/// Scores the requests together and returns the members of their records, in order. Returns nothing
/// if interrupted() becomes true meanwhile. Throws Error if the log-probabilities are not finite.
/// REQUIRES: all of them have the same options.
[[nodiscard]] std::vector<Json> score_requests(const Engine& engine, const ScoreRecords& records,
                                               std::span<const ScoreRequest* const> requests);

}  // namespace gpt2::cli
