#include "generate/score/scored_window.h"

#include <algorithm>

namespace gpt2 {

ScoredWindow window_at(std::size_t begin, std::size_t reached, std::size_t tokens,
                       std::size_t context) {
  const std::size_t end = std::min(begin + context, tokens);
  return {begin, std::max(reached, begin + 1), end, end - reached};
}

std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context, std::size_t stride) {
  std::vector<ScoredWindow> windows;
  std::size_t reached = 0;  // the end of the previous window
  for (std::size_t begin = 0; reached < tokens; begin += stride) {
    windows.push_back(window_at(begin, reached, tokens, context));
    reached = windows.back().end;
  }
  return windows;
}

void add_tasks(std::vector<ScoreTask>& tasks, std::span<const ScoredWindow> windows,
               std::span<const TokenId> text, std::span<TokenLogprob> scores) {
  for (const auto& [begin, first, end, labels, nll] : windows) {
    if (first == end) continue;
    tasks.push_back({text.subspan(begin, first - begin),
                     {{text.subspan(first, end - first), scores.subspan(first, end - first)}}});
  }
}

void set_nll(std::span<ScoredWindow> windows, std::span<const TokenLogprob> scores) {
  for (ScoredWindow& window : windows) {
    window.nll = -sum_of_logprobs(scores.subspan(window.first, window.end - window.first));
  }
}

double sum_of_logprobs(std::span<const TokenLogprob> scores) {
  double sum = 0.0;
  for (const TokenLogprob& score : scores) sum += static_cast<double>(score.logprob);
  return sum;
}

}  // namespace gpt2
