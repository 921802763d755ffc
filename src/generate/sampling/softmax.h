#pragma once

#include <span>

namespace gpt2 {

/// The max and the sum that the softmax of some scores needs.
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

}  // namespace gpt2
