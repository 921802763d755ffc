#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "generate/score/score_tasks.h"  // score_in_groups(), which keeps what was scored
#include "gpt2/engine.h"
#include "gpt2/score.h"
#include "requests/completion_request.h"
#include "requests/json_text.h"
#include "requests/members.h"
#include "requests/tokens.h"

// Requests to score texts or choices: JSON in, a run, JSON out.

namespace gpt2 {

/// Texts to score, or a question whose choices are to be compared.
struct ScoringRequest {
  std::vector<std::vector<TokenId>> texts = {};
  ChoiceQuestion question = {};  ///< without choices if there are texts
  ScoreOptions options = {};     ///< resolved, without `progress`
  bool with_logprobs = false;    ///< whether the result has the log-probability of each token

  [[nodiscard]] bool is_question() const noexcept { return !question.choices.empty(); }

  /// The number of tokens of the texts, or of the context and all choices.
  [[nodiscard]] std::size_t tokens() const;

  /// Whether score_lines() can score both in one call.
  [[nodiscard]] bool has_same_options(const ScoringRequest& other) const;
};

/// Throws Error unless a text has at least two tokens.
void check_scored_length(std::size_t tokens);

/// Reads "context" and "choices", which are texts or lists of token ids. Throws Error if the model
/// cannot score them.
[[nodiscard]] ChoiceQuestion read_question(Members& members, const TokenReader& reader,
                                           const Config& config);

/// Reads {"texts": a text or token ids, or a list of these, "context": tokens of a window,
/// "stride": tokens, "logprobs": number}. Throws Error for any other object.
[[nodiscard]] ScoringRequest read_texts_to_score(const nlohmann::json& body,
                                                 const RequestContext& context);

/// Reads {"context": a text or token ids, "choices": a list of these, "logprobs": number}. Throws
/// Error for any other object, and if a choice is too long.
[[nodiscard]] ScoringRequest read_choices_to_score(const nlohmann::json& body,
                                                   const RequestContext& context);

/// Reads a line: an object with "context" and "choices", or with "text" and maybe "context",
/// "stride" and "logprobs", whose default is `top_logprobs`. Throws Error for any other member, and
/// for a text of fewer than two tokens.
[[nodiscard]] ScoringRequest read_line_to_score(Members& members, const TokenReader& reader,
                                                const Config& config,
                                                std::optional<std::size_t> top_logprobs);

/// What the model thinks of them: one or the other.
struct ScoringResult {
  std::vector<TextScore> texts = {};
  std::vector<ChoiceScore> choices = {};
};

/// Scores the requests, in shared passes, and returns the result of each. Throws what score() and
/// score_choices() throw. REQUIRES: all of them have the same options.
[[nodiscard]] std::vector<ScoringResult> run_scoring(
    const Engine& engine, std::span<const ScoringRequest* const> requests,
    const std::function<void(double)>& progress = {});

/// Returns the perplexity_json() of all texts together and {"texts": [that of each, with
/// "logprobs"]}, or {"best", "best_per_token", "choices": [{"tokens", "logprob", ...}]}.
[[nodiscard]] Json scoring_json(const ScoringRequest& request, const ScoringResult& result,
                                const std::optional<Tokenizer>& tokenizer);

/// Scores lines together, each with one text or one question, and returns the JSON of each: as in
/// scoring_json(), but of its only text. Throws what run_scoring() and checked_perplexity() throw.
/// REQUIRES: all lines have the same options.
[[nodiscard]] std::vector<Json> score_lines(const Engine& engine,
                                            const std::optional<Tokenizer>& tokenizer,
                                            std::span<const ScoringRequest* const> lines,
                                            const std::function<void(double)>& progress = {});

/// Returns the perplexity of one scored text. Throws Error if it is not finite, which means that
/// the weights are damaged.
[[nodiscard]] Perplexity checked_perplexity(const Model& model,
                                            const std::optional<Tokenizer>& tokenizer,
                                            const std::vector<TokenId>& text,
                                            const TextScore& score);

/// Returns the numbers of Perplexity, each with its standard error. Numbers by word and by byte are
/// null without a tokenizer, and standard errors are null if there is a single window.
[[nodiscard]] Json perplexity_json(const Perplexity& found, const ScoreOptions& options);

}  // namespace gpt2
