#pragma once

#include <cmath>
#include <span>

namespace gpt2 {

/// The statistics that an observer sees of the input of a LayerNorm (gpt2/observer.h).
struct LayerNormStatistics {
  float mean, variance, rstd;
};

/// Computes them in double. REQUIRES: x is not empty.
[[nodiscard]] inline LayerNormStatistics statistics_of(std::span<const float> x,
                                                       double epsilon) noexcept {
  const auto count = static_cast<double>(x.size());
  double mean = 0.0;
  for (const float value : x) mean += value;
  mean /= count;
  double variance = 0.0;
  for (const float value : x) variance += (value - mean) * (value - mean);
  variance /= count;
  return {static_cast<float>(mean), static_cast<float>(variance),
          static_cast<float>(1.0 / std::sqrt(variance + epsilon))};
}

}  // namespace gpt2
