#pragma once

#include <optional>

#include "cli/records.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// Returns the object that JSON has for a token of a text: its id, its text if there is a
/// tokenizer, its log-probability, its rank and the likeliest tokens. If no token precedes the
/// token and predicts it, the log-probability and the rank are null.
[[nodiscard]] Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                                const TokenLogprob& score);

/// Returns the objects of all tokens of a text.
[[nodiscard]] Json logprobs_json(const std::optional<Tokenizer>& tokenizer,
                                 std::span<const TokenId> tokens,
                                 std::span<const TokenLogprob> scores);

}  // namespace gpt2::cli
