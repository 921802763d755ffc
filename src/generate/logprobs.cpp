#include "generate/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/fail.h"
#include "generate/processors/softmax.h"

namespace gpt2 {

double log_sum_exp(std::span<const float> logits) {
  std::vector<float> weights(logits.size());
  const Softmax s = softmax(weights, logits);
  // NaN and +infinity among the logits make the sum NaN; if every logit is -infinity, it is 0.
  if (!(s.sum > 0.0f)) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(s.max) + static_cast<double>(log_of(s.sum));
}

void check_top_logprobs(std::size_t top, std::size_t vocab_size) {
  if (top <= vocab_size) return;
  reject("the ", top, " likeliest tokens are asked for, but the vocabulary has ", vocab_size,
         ": ask for at most as many");
}

TokenLogprob token_logprob(std::span<const float> logits, TokenId token, std::size_t top) {
  const double log_sum = log_sum_exp(logits);
  if (std::isnan(log_sum)) return {std::numeric_limits<float>::quiet_NaN(), 0, {}};

  const auto logit = [logits](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  const auto logprob = [&](TokenId id) {
    return static_cast<float>(static_cast<double>(logit(id)) - log_sum);
  };
  // Two loops without branches, because most callers want no more than the rank.
  const float own = logit(token);
  const auto at = static_cast<std::size_t>(token);
  const auto rank =
      std::ranges::count_if(logits.first(at), [own](float other) { return other >= own; }) +
      std::ranges::count_if(logits.subspan(at), [own](float other) { return other > own; });

  TokenLogprob result{logprob(token), static_cast<std::size_t>(rank), {}};
  if (top == 0) return result;
  const auto is_likelier = [&](TokenId a, TokenId b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  };
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(top);
  std::ranges::partial_sort(ids, end, is_likelier);
  for (auto id = ids.begin(); id != end; ++id) result.top.push_back({*id, logprob(*id)});
  return result;
}

}  // namespace gpt2
