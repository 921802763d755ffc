#include "generate/score/window_scores.h"

#include <vector>

#include "generate/sampling/softmax.h"
#include "generate/score/ratio_of_sums.h"

namespace gpt2 {

PerplexityComparison summarize(std::span<const WindowScore> windows) {
  PerplexityComparison result{.windows = windows.size()};
  double total[2] = {};
  for (const WindowScore& window : windows) {
    result.tokens += window.tokens;
    for (std::size_t m = 0; m < 2; ++m) total[m] += window.nll[m];
  }
  const auto tokens = static_cast<double>(result.tokens);
  for (std::size_t m = 0; m < 2; ++m) result.perplexity[m] = exp_f64(total[m] / tokens);
  std::vector<Part> differences;
  for (const WindowScore& window : windows) {
    differences.push_back({window.nll[1] - window.nll[0], static_cast<double>(window.tokens)});
  }
  const Estimate mean = ratio_of_sums(differences);  // D
  // Close to 0, exp(D) - 1 is off by 2^-53. D itself is not more precise, because its sums are
  // rounded.
  const double ratio = exp_f64(mean.value);
  result.change = ratio - 1.0;
  result.standard_error = ratio * mean.standard_error;
  return result;
}

}  // namespace gpt2
