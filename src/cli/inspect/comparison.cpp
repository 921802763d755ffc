#include "cli/inspect/comparison.h"

#include <cmath>
#include <limits>

namespace gpt2::cli {

std::vector<std::vector<float>> distances(const std::vector<std::vector<float>>& inputs,
                                          const std::vector<std::vector<float>>& others,
                                          std::size_t tokens) {
  std::vector<std::vector<float>> all;
  if (inputs.size() != others.size() || inputs[0].size() != others[0].size()) return all;
  const std::size_t n_embd = inputs[0].size() / tokens;
  for (std::size_t norm = 0; norm < inputs.size(); ++norm) {
    std::vector<float>& distance = all.emplace_back();
    for (std::size_t begin = 0; begin < inputs[norm].size(); begin += n_embd) {
      double apart = 0.0, size = 0.0;
      for (std::size_t i = begin; i < begin + n_embd; ++i) {
        const double theirs = others[norm][i], difference = inputs[norm][i] - theirs;
        apart += difference * difference;
        size += theirs * theirs;
      }
      distance.push_back(static_cast<float>(std::sqrt(apart / size)));
    }
  }
  return all;
}

double loss_of(const Inspection& found) {
  if (found.scores.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (std::size_t t = 1; t < found.scores.size(); ++t) sum -= found.scores[t].logprob;
  return sum / static_cast<double>(found.scores.size() - 1);
}

}  // namespace gpt2::cli
