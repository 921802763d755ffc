#include "generate/window_scores.h"

#include <cmath>
#include <vector>

#include "generate/ratio_of_sums.h"

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
  std::vector<Part> differences;
  for (const WindowScore& window : windows) {
    differences.push_back({window.nll[1] - window.nll[0], static_cast<double>(window.tokens)});
  }
  const Estimate mean = ratio_of_sums(differences);  // D
  result.change = std::expm1(mean.value);
  result.standard_error = std::exp(mean.value) * mean.standard_error;
  return result;
}

}  // namespace gpt2
