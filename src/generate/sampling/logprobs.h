#pragma once

#include <cstddef>
#include <span>

#include "gpt2/score.h"

namespace gpt2 {

/// Returns the logarithm of the sum of exp(logit), with the same bits on every machine. A token's
/// log-probability is its logit minus this. Returns NaN if the logits have no distribution, because
/// one of them is NaN or +infinity or because all are -infinity.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);

/// The same without allocating memory. `scratch` has room for as many floats as there are logits.
[[nodiscard]] double log_sum_exp(std::span<const float> logits, std::span<float> scratch) noexcept;

/// Throws Error(invalid_argument) if `top`, the requested number of likeliest tokens, is more than
/// the vocabulary has.
void check_top_logprobs(std::size_t top, std::size_t vocab_size);

/// Returns the log-probability and the rank of the token, and the `top` likeliest tokens. If `top`
/// is small, the time is proportional to the number of logits. REQUIRES: the token and `top` - 1
/// are indices of the logits, or `top` is 0 (see check_top_logprobs).
[[nodiscard]] TokenLogprob token_logprob(std::span<const float> logits, TokenId token,
                                         std::size_t top);

/// Writes the same to `score` without allocating memory. REQUIRES: score.top has the requested
/// size, and `scratch` has room for as many floats as there are logits.
void write_logprob(TokenLogprob& score, std::span<const float> logits, TokenId token,
                   std::span<float> scratch) noexcept;

}  // namespace gpt2
