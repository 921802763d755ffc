#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"

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

}  // namespace gpt2
