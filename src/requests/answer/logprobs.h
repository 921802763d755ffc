#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// Returns the object that JSON has for a token and its log-probability: its id, its text if there
/// is a tokenizer, and the log-probability.
[[nodiscard]] Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                               float logprob);

/// Returns the object that JSON has for a token of a text: its id, its text if there is a
/// tokenizer, its log-probability, its rank and the likeliest tokens. If no token precedes the
/// token and predicts it, the log-probability and the rank are null.
[[nodiscard]] Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                                const TokenLogprob& score);

/// Returns the objects of all tokens of a text.
[[nodiscard]] Json logprobs_json(const std::optional<Tokenizer>& tokenizer,
                                 std::span<const TokenId> tokens,
                                 std::span<const TokenLogprob> scores);

/// Returns the bytes in base64, with padding (RFC 4648, section 4).
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace gpt2
