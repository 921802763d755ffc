#include "generate/sampling/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include "base/fail.h"
#include "base/system/threads.h"
#include "generate/sampling/processor.h"
#include "kernels/kernels.h"

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
  kernels().log(&x, 1);
  return x;
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
