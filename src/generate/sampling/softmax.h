#pragma once

#include <cstddef>
#include <span>

#include "gpt2/score.h"

namespace gpt2 {

struct Softmax {
  float max;  ///< the largest score
  float sum;  ///< of the weights exp(score - max); 0 if every score is -infinity
};

/// Writes the weight exp(score - max) of each score, whose probability is weight / sum. `weights`
/// may be `scores`. Writes nothing if every score is -infinity. If a score is NaN or +infinity, the
/// sum is NaN, or possibly 0 if all other scores are -infinity.
Softmax softmax(std::span<float> weights, std::span<const float> scores);

/// Returns the mean of score - max over the distribution. The entropy, in nats, is log(sum) minus
/// this mean. REQUIRES: softmax() wrote the weights and returned `s`, whose sum is not 0.
[[nodiscard]] float mean_score(const Softmax& s, std::span<const float> weights,
                               std::span<const float> scores);

/// Writes the log-probability log(weight / sum) of each score. If every score is -infinity, every
/// log-probability is, too. REQUIRES: no score is NaN or +infinity, and the spans do not overlap.
void log_softmax(std::span<float> log_probs, std::span<const float> scores);

/// e^x, and the natural logarithm of a positive normal number. Unlike the functions of the C
/// library, they return the same bits on every machine.
[[nodiscard]] float exp_of(float x);
[[nodiscard]] float log_of(float x);

/// Returns e^x within 1.5 ulp if the result is a normal number, with the same bits on every
/// machine. The C library's own exp may give another last digit in another version. NaN stays NaN.
/// REQUIRES: the floating-point state is the default one (see DefaultFloatState).
[[nodiscard]] double exp_f64(double x) noexcept;

/// Returns the logarithm of the sum of exp(logit), with the same bits on every machine. A token's
/// log-probability is its logit minus this. Returns NaN if the logits have no distribution, because
/// one of them is NaN or +infinity or because all are -infinity. `scratch` has room for as many
/// floats as there are logits.
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
