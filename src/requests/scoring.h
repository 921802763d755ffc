#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/score.h"
#include "requests/completion_request.h"
#include "requests/json_text.h"

// Requests to score texts or choices: JSON in, a run, JSON out.

namespace gpt2 {

/// Texts to score, or a question whose choices are to be compared.
struct ScoringRequest {
  std::vector<std::vector<TokenId>> texts = {};
  ChoiceQuestion question = {};  ///< without choices if there are texts
  ScoreOptions options = {};
  bool with_logprobs = false;  ///< whether the result has the log-probability of each token
};

/// Reads {"texts": a text or token ids, or a list of these, "context": tokens of a window,
/// "stride": tokens, "logprobs": number}. Throws Error for any other object.
[[nodiscard]] ScoringRequest read_texts_to_score(const nlohmann::json& body,
                                                 const RequestContext& context);

/// Reads {"context": a text or token ids, "choices": a list of these, "logprobs": number}. Throws
/// Error for any other object, and if a choice is too long.
[[nodiscard]] ScoringRequest read_choices_to_score(const nlohmann::json& body,
                                                   const RequestContext& context);

/// What the model thinks of them: one or the other.
struct ScoringResult {
  std::vector<TextScore> texts = {};
  std::vector<ChoiceScore> choices = {};
};

/// Scores the request, in shared passes. Throws what score() and score_choices() throw.
[[nodiscard]] ScoringResult run_scoring(const Engine& engine, const ScoringRequest& request,
                                        const std::function<void(double)>& progress = {});

/// Returns the perplexity of all texts together and {"texts": [that of each, with "logprobs"]}, or
/// {"best", "best_per_token", "choices": [{"tokens", "logprob", ...}]}. Without a tokenizer,
/// numbers by word and by byte are null.
[[nodiscard]] Json scoring_json(const ScoringRequest& request, const ScoringResult& result,
                                const std::optional<Tokenizer>& tokenizer);

}  // namespace gpt2
