#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "requests/completion.h"
#include "requests/completion_request.h"
#include "requests/json_text.h"
#include "gpt2/generate.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"

// Answers in our own form: the lines of `gpt2 batch` and `gpt2 generate --json`, and what the C
// interface returns.

namespace gpt2 {

/// Returns {"id", "text", "logprob"}: a token, its text if there is a tokenizer, and its
/// log-probability.
[[nodiscard]] Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                               float logprob);

/// Returns likely_json() with "rank" and "top", the likeliest tokens. If no token precedes the
/// token and predicts it, the log-probability and the rank are null.
[[nodiscard]] Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                                const TokenLogprob& score);

/// Returns the objects of all tokens of a text.
[[nodiscard]] Json logprobs_json(const std::optional<Tokenizer>& tokenizer,
                                 std::span<const TokenId> tokens,
                                 std::span<const TokenLogprob> scores);

/// Returns {"prompt_seconds", "generation_seconds", "drafted_tokens", "accepted_tokens",
/// "logits_hash"}. The hash is null if there were no logits to hash.
[[nodiscard]] Json stats_json(const GenerationResult& result);

/// Adds a text to a record: "text" unless there is no tokenizer, "token_ids",
/// "finish_reason", and "score", or else "seed", if `with_seed`, and "sequence". Then "logprobs", if
/// the request is for them.
void add_text(Json& record, const CompletionRequest& request,
              const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice,
              bool with_seed = false);

/// Returns an array with an object for each text: "prompt" (the index of its prompt, if there are
/// several), "prompt_tokens", "lost_bytes" and "truncated" (unless they are 0), what add_text()
/// adds, and "stats".
[[nodiscard]] Json own_json(const CompletionRequest& request,
                            const std::optional<Tokenizer>& tokenizer,
                            const std::vector<CompletedPrompt>& prompts);

}  // namespace gpt2
