#include "generate/sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "base/system/threads.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

// Fills the list with the tokens that have the largest logits, which stand in it instead of their
// log-probabilities. (A view of pairs would be shorter, but clang 14 cannot compile views.)
void find_likeliest(std::vector<LikelyToken>& top, std::span<const float> logits) noexcept {
  const auto is_before = [](const LikelyToken& a, const LikelyToken& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
  };
  const auto token_at = [logits](std::size_t i) {
    return LikelyToken{static_cast<TokenId>(i), logits[i]};
  };
  for (std::size_t i = 0; i < top.size(); ++i) top[i] = token_at(i);
  std::ranges::make_heap(top, is_before);  // the last of them is at the front
  for (std::size_t i = top.size(); i < logits.size(); ++i) {
    if (!is_before(token_at(i), top.front())) continue;
    std::ranges::pop_heap(top, is_before);
    top.back() = token_at(i);
    std::ranges::push_heap(top, is_before);
  }
  std::ranges::sort_heap(top, is_before);
}

}  // namespace

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
  const DefaultFloatState state;
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

  find_likeliest(score.top, logits);
  for (LikelyToken& likely : score.top) likely.logprob = logprob(likely.logprob);
}

}  // namespace gpt2
