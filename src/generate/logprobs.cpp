#include "generate/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <vector>

#include "base/fail.h"
#include "generate/processors/softmax.h"

namespace gpt2 {

double log_sum_exp(std::span<const float> logits, std::span<float> scratch) noexcept {
  const Softmax s = softmax(scratch, logits);
  // The sum is NaN if a logit is NaN or +infinity, and 0 if every logit is -infinity.
  if (!(s.sum > 0.0f)) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(s.max) + static_cast<double>(log_of(s.sum));
}

double log_sum_exp(std::span<const float> logits) {
  std::vector<float> scratch(logits.size());
  return log_sum_exp(logits, scratch);
}

void check_top_logprobs(std::size_t top, std::size_t vocab_size) {
  if (top <= vocab_size) return;
  reject("the ", top, " likeliest tokens are asked for, but the vocabulary has ", vocab_size,
         ": ask for at most as many");
}

TokenLogprob token_logprob(std::span<const float> logits, TokenId token, std::size_t top) {
  std::vector<float> scratch(logits.size());
  TokenLogprob score = {0.0f, 0, std::vector<LikelyToken>(top)};
  write_logprob(score, logits, token, scratch);
  return score;
}

void write_logprob(TokenLogprob& score, std::span<const float> logits, TokenId token,
                   std::span<float> scratch) noexcept {
  const double log_sum = log_sum_exp(logits, scratch);
  if (std::isnan(log_sum)) {
    score.logprob = std::numeric_limits<float>::quiet_NaN();
    score.rank = 0;
    score.top.clear();
    return;
  }
  const auto logprob = [log_sum](float logit) {
    return static_cast<float>(static_cast<double>(logit) - log_sum);
  };
  const auto at = static_cast<std::size_t>(token);
  const float own = logits[at];
  score.logprob = logprob(own);
  // The rank is counted in two loops without branches, separately from the list, because most
  // callers need only the rank.
  score.rank = static_cast<std::size_t>(
      std::ranges::count_if(logits.first(at), [own](float other) { return other >= own; }) +
      std::ranges::count_if(logits.subspan(at), [own](float other) { return other > own; }));
  if (score.top.empty()) return;

  // The entries of the list hold logits until the last loop, which replaces them by
  // log-probabilities.
  const auto tokens = std::views::iota(TokenId{0}, static_cast<TokenId>(logits.size())) |
                      std::views::transform([logits](TokenId id) {
                        return LikelyToken{id, logits[static_cast<std::size_t>(id)]};
                      });
  std::ranges::partial_sort_copy(tokens, score.top, [](const LikelyToken& a, const LikelyToken& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
  });
  for (LikelyToken& likely : score.top) likely.logprob = logprob(likely.logprob);
}

}  // namespace gpt2
