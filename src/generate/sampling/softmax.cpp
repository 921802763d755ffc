#include "generate/sampling/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "generate/sampling/processor.h"
#include "kernels/kernels.h"
#include "kernels/vec_math.h"
#include "kernels/vec_scalar.h"

namespace gpt2 {

Softmax softmax(std::span<float> weights, std::span<const float> scores) {
  const Kernels& k = kernels();
  const float max = scores[k.argmax(scores.data(), scores.size())];
  if (max == kRemoved) return {.max = max, .sum = 0.0f};
  return {.max = max, .sum = k.exp_sum(weights.data(), scores.data(), max, scores.size())};
}

float mean_score(const Softmax& s, std::span<const float> weights, std::span<const float> scores) {
  double sum = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (weights[i] == 0.0f) continue;  // the score may be -infinity
    sum += static_cast<double>(weights[i]) * static_cast<double>(scores[i] - s.max);
  }
  return static_cast<float>(sum / static_cast<double>(s.sum));
}

void log_softmax(std::span<float> log_probs, std::span<const float> scores) {
  const Softmax s = softmax(log_probs, scores);
  if (s.sum == 0.0f) {
    std::ranges::fill(log_probs, kRemoved);
    return;
  }
  const float log_sum = log_of(s.sum);
  for (std::size_t i = 0; i < scores.size(); ++i) log_probs[i] = (scores[i] - s.max) - log_sum;
}

float exp_of(float x) {
  float result;
  kernels().exp_sum(&result, &x, 0.0f, 1);
  return result;
}

float log_of(float x) {
  float result;
  store(&result, log(scalar::Vec(x)), Partial{1});
  return result;
}

// x = n ln 2 + r with |r| <= ln 2 / 2, so that e^x = 2^n e^r. Every step is an operation that IEEE
// 754 defines exactly; so are nearbyint() and ldexp().
//
// The series 1 + r/1 (1 + r/2 (1 + r/3 ...)) ends with r^13 / 13!. The terms left out sum up to
// less than 2^-57 of e^r, at most an eighth of half an ulp.
double exp_f64(double x) noexcept {
  if (std::isnan(x)) return x;
  constexpr double kLn2High = 0x1.62e42feep-1;  // has 31 bits, so that n * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  x = std::clamp(x, -800.0, 800.0);  // the results there are 0 and infinity already
  const double n = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (double k = 13.0; k >= 1.0; --k) sum = 1.0 + r * sum / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace gpt2
