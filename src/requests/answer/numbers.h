#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"
#include "requests/read/text_requests.h"

// Answers that consist of numbers: log-probabilities, scores, and vectors as OpenAI's embeddings
// API has them.

namespace gpt2 {

/// Returns {"id", "text", "logprob"}, without the text if there is no tokenizer.
[[nodiscard]] Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                               float logprob);

/// Returns the same with "rank" and "top", the likeliest tokens. If no token precedes the token and
/// predicts it, the log-probability and the rank are null.
[[nodiscard]] Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                                const TokenLogprob& score);

/// Returns the logprob_json() of all tokens.
[[nodiscard]] Json logprobs_json(const std::optional<Tokenizer>& tokenizer,
                                 std::span<const TokenId> tokens,
                                 std::span<const TokenLogprob> scores);

/// Returns the bytes in base64, with padding (RFC 4648, section 4).
[[nodiscard]] std::string base64(std::string_view bytes);

/// Returns the perplexity_json() of all texts together and {"texts": [that of each, with
/// "logprobs"]}, that of the only text, or {"best", "best_per_token", "choices": [{"tokens",
/// "logprob", ...}]}. For one text, throws what checked_perplexity() throws.
[[nodiscard]] Json scoring_json(const ScoringRequest& request, const ScoringResult& result,
                                const Model& model, const std::optional<Tokenizer>& tokenizer);

/// Returns the perplexity of one scored text. Throws Error if it is not finite, which means that
/// the weights are damaged.
[[nodiscard]] Perplexity checked_perplexity(const Model& model,
                                            const std::optional<Tokenizer>& tokenizer,
                                            const std::vector<TokenId>& text,
                                            const TextScore& score);

/// Returns the numbers of Perplexity, each with its standard error. Numbers by word and by byte are
/// null without a tokenizer, and standard errors are null if there is a single window.
[[nodiscard]] Json perplexity_json(const Perplexity& found, const ScoreOptions& options);

/// Returns the list of a vector's numbers or, if is_base64, the base64 of its floats.
[[nodiscard]] Json vector_json(const std::vector<float>& vector, bool is_base64);

/// Returns the body of an answer: {"object", "data", "model", "usage"}. As OpenAI's vectors, those
/// of the answer have the length 1.
[[nodiscard]] Json embedding_json(const EmbeddingRequest& request, const std::string& model,
                                  std::vector<std::vector<float>> vectors);

}  // namespace gpt2
