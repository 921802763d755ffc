#include "generate/logprobs.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "generate/processors/softmax.h"

namespace gpt2 {

TokenLogprob token_logprob(std::span<const float> logits, TokenId token, std::size_t top) {
  std::vector<float> weights(logits.size());
  const Softmax s = softmax(weights, logits);
  // NaN and +infinity among the logits make the sum NaN; if every logit is -infinity, it is 0.
  if (!(s.sum > 0.0f)) return {std::numeric_limits<float>::quiet_NaN(), 0, {}};

  const double log_sum = static_cast<double>(s.max) + static_cast<double>(log_of(s.sum));
  const auto logit = [logits](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  const auto logprob = [&](TokenId id) {
    return static_cast<float>(static_cast<double>(logit(id)) - log_sum);
  };
  const auto is_likelier = [&](TokenId a, TokenId b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  };
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto rank = std::ranges::count_if(ids, [&](TokenId id) { return is_likelier(id, token); });

  TokenLogprob result{logprob(token), static_cast<std::size_t>(rank), {}};
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(top);
  std::ranges::partial_sort(ids, end, is_likelier);
  for (auto id = ids.begin(); id != end; ++id) result.top.push_back({*id, logprob(*id)});
  return result;
}

}  // namespace gpt2
