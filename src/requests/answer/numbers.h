#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "requests/answer/logprobs.h"
#include "requests/read/text_requests.h"

// Answers that consist of numbers: scores, and vectors as OpenAI's embeddings API has them.

namespace gpt2 {

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
