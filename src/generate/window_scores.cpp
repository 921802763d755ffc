#include "generate/window_scores.h"

#include <cmath>
#include <limits>

namespace gpt2 {

PerplexityComparison summarize(std::span<const WindowScore> windows) {
  PerplexityComparison result{.windows = windows.size()};
  double total[2] = {};
  for (const WindowScore& window : windows) {
    result.tokens += window.tokens;
    for (std::size_t m = 0; m < 2; ++m) total[m] += window.nll[m];
  }
  const auto tokens = static_cast<double>(result.tokens);
  for (std::size_t m = 0; m < 2; ++m) result.perplexity[m] = std::exp(total[m] / tokens);
  const double mean = (total[1] - total[0]) / tokens;  // D
  result.change = std::expm1(mean);
  double squares = 0.0;
  for (const WindowScore& window : windows) {
    const double difference = window.nll[1] - window.nll[0];
    const double deviation = difference - mean * static_cast<double>(window.tokens);
    squares += deviation * deviation;
  }
  const auto count = static_cast<double>(windows.size());
  result.standard_error = windows.size() < 2
                              ? std::numeric_limits<double>::quiet_NaN()
                              : std::exp(mean) * std::sqrt(count / (count - 1) * squares) / tokens;
  return result;
}

}  // namespace gpt2
