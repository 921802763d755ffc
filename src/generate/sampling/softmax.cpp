#include "generate/sampling/softmax.h"

#include <algorithm>
#include <cstddef>

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

}  // namespace gpt2
