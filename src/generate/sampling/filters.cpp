#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

#include "generate/sampling/processor.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

// Returns the k-th largest score. Overwrites p.scratch. REQUIRES: 0 < k <= vocab_size.
float kth_largest(const Processing& p, std::size_t k) {
  const auto largest = p.scratch.first(k);
  std::ranges::partial_sort_copy(p.scores, largest, std::greater<float>());
  return largest.back();
}

// Returns the threshold at or above which a score is kept whatever its probability, so that at
// least min_tokens_to_keep tokens remain.
float always_kept(const Processing& p) {
  return kth_largest(p, std::min(p.limits.min_tokens_to_keep, p.scores.size()));
}

// Removes the tokens whose weight is less than `least` and whose score is less than `always`.
// REQUIRES: softmax() has written the weights to p.scratch.
void remove_lighter(const Processing& p, float least, float always) {
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    if (p.scratch[i] < least && p.scores[i] < always) p.scores[i] = kRemoved;
  }
}

// Orders tokens by key, descending, then by id, ascending.
auto comes_after(std::span<const float> keys) {
  return [keys](std::size_t a, std::size_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a > b;
  };
}

// Fills p.order with the tokens whose probability is not 0 and whose key is at least `least`.
// Returns the sum of their weights.
double collect(const Processing& p, std::span<const float> keys, float least) {
  double sum = 0.0;
  p.order.clear();
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    if (!(keys[i] >= least) || p.scratch[i] == 0.0f) continue;
    p.order.push_back(static_cast<std::uint32_t>(i));
    sum += static_cast<double>(p.scratch[i]);
  }
  return sum;
}

// Adds the tokens with the weight 0 to p.order.
void collect_weightless(const Processing& p) {
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    const bool is_weightless = p.scratch[i] == 0.0f && p.scores[i] != kRemoved;
    if (is_weightless) p.order.push_back(static_cast<std::uint32_t>(i));
  }
}

// Takes tokens of p.order in the order of comes_after(keys) until their weights add up to at least
// `mass` and there are min_tokens_to_keep of them, or none is left. Returns the last one taken.
// REQUIRES: p.order is not empty.
std::uint32_t take(const Processing& p, std::span<const float> keys, double mass) {
  const auto after = comes_after(keys);
  std::make_heap(p.order.begin(), p.order.end(), after);
  auto end = p.order.end();
  double sum = 0.0;
  std::size_t taken = 0;
  do {
    std::pop_heap(p.order.begin(), end, after);
    sum += static_cast<double>(p.scratch[*--end]);
    ++taken;
  } while ((sum < mass || taken < p.limits.min_tokens_to_keep) && end != p.order.begin());
  return *end;
}

// Takes tokens in the order of comes_after(keys) until their probabilities add up to at least
// `share` and there are min_tokens_to_keep of them. Returns the last one taken. Tokens with the
// probability 0 are taken only if there are not enough others. REQUIRES: softmax() has written the
// weights to p.scratch, and their sum is not 0.
//
// Few tokens are usually enough, and putting the whole vocabulary in order would take longer than
// all else. So only the tokens with keys near the largest one are put in order, if their weights
// are certain to be enough. kMargin is more than the rounding errors of sums in different orders.
std::uint32_t last_within(const Processing& p, std::span<const float> keys, const Softmax& s,
                          float share) {
  constexpr double kMargin = 1.0 + 1e-9;
  const double mass = static_cast<double>(share) * static_cast<double>(s.sum);
  const float largest = *std::max_element(keys.begin(), keys.end());
  for (const float width : {2.0f, 4.0f, 8.0f}) {
    const bool is_enough = collect(p, keys, largest - width) > mass * kMargin;
    if (is_enough && p.order.size() >= p.limits.min_tokens_to_keep) return take(p, keys, mass);
  }
  collect(p, keys, kRemoved);
  if (p.order.size() < p.limits.min_tokens_to_keep) collect_weightless(p);
  return take(p, keys, mass);
}

// A quotient that overflows becomes the largest finite number, so that a removed token is still the
// only one with the score -infinity.
void divide_by_temperature(const Processing& p) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (float& score : p.scores) {
    const float scaled = std::clamp(score / p.options.temperature, -kLargest, kLargest);
    score = score > kRemoved ? scaled : kRemoved;
  }
}

// The entropy is the sum of q * -log q, where q = weight / sum and -log q = log(sum) - (score -
// max). Both sides of the comparison are multiplied by the sum of the weights.
void keep_top_h(const Processing& p) {
  constexpr std::size_t kMost = 100;
  const std::size_t count = std::min(kMost, p.scores.size());
  p.order.resize(p.scores.size());
  std::iota(p.order.begin(), p.order.end(), 0u);
  const auto after = comes_after(p.scores);
  std::partial_sort(p.order.begin(), p.order.begin() + static_cast<std::ptrdiff_t>(count),
                    p.order.end(), [&](std::size_t a, std::size_t b) { return after(b, a); });
  float best[kMost], weights[kMost];
  for (std::size_t i = 0; i < count; ++i) best[i] = p.scores[p.order[i]];
  const Softmax s = softmax(std::span(weights, count), std::span(best, count));
  if (s.sum == 0.0f) return;
  const float log_sum = log_of(s.sum);
  double entropy[kMost];  // of the first tokens together
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (weights[i] != 0.0f) sum += double{weights[i]} * double{log_sum - (best[i] - s.max)};
    entropy[i] = sum;
  }
  std::ranges::fill(p.scores, kRemoved);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_kept = i == 0 || entropy[i] <= sum * double{p.options.top_h};
    if (is_kept && weights[i] != 0.0f) p.scores[p.order[i]] = best[i];
  }
}

void keep_top_k(const Processing& p) {
  const std::size_t k = std::max(p.options.top_k, p.limits.min_tokens_to_keep);
  if (k >= p.scores.size()) return;
  const float least = kth_largest(p, k);
  for (float& score : p.scores) score = score < least ? kRemoved : score;
}

// The sums are in double and in the order of the ids, so that they have the same bits everywhere.
void keep_top_n_sigma(const Processing& p) {
  float max = kRemoved;
  double sum = 0.0;
  double count = 0.0;
  for (const float score : p.scores) {
    if (score == kRemoved) continue;
    max = std::max(max, score);
    sum += double{score};
    ++count;
  }
  if (count == 0.0) return;
  const double mean = sum / count;
  double squares = 0.0;
  for (const float score : p.scores) {
    if (score != kRemoved) squares += (double{score} - mean) * (double{score} - mean);
  }
  const double sigma = std::sqrt(squares / count);
  const double least =
      std::min(double{max} - double{p.options.top_n_sigma} * sigma, double{always_kept(p)});
  for (float& score : p.scores) score = double{score} < least ? kRemoved : score;
}

// Orders the tokens by score, and keeps a token if the probabilities of the tokens before it sum to
// less than top_p. The first token is always kept. HuggingFace's rule is equivalent: it removes the
// least probable tokens as long as the others add up to at least top_p.
void keep_top_p(const Processing& p) {
  const Softmax s = softmax(p.scratch, p.scores);
  if (s.sum == 0.0f) return;
  const std::uint32_t last = last_within(p, p.scores, s, p.options.top_p);
  const float last_score = p.scores[last];
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    const float score = p.scores[i];
    if (score < last_score || (score == last_score && i > last)) p.scores[i] = kRemoved;
  }
}

// The largest weight is 1, so each weight is the ratio of its token's probability to the highest
// one.
void keep_min_p(const Processing& p) {
  const float always = always_kept(p);
  if (softmax(p.scratch, p.scores).sum == 0.0f) return;
  remove_lighter(p, p.options.min_p, always);
}

// The information of a token is -log p = log(sum) - (score - max), and the entropy is
// log(sum) - mean_score(). The logarithms cancel in the distance between the two. Unlike top_p,
// HuggingFace keeps all tokens that are as far away as the last one.
void keep_typical(const Processing& p) {
  const Softmax s = softmax(p.scratch, p.scores);
  if (s.sum == 0.0f) return;
  const float mean = mean_score(s, p.scratch, p.scores);
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    p.keys[i] = -std::abs(mean - (p.scores[i] - s.max));
  }
  const float furthest = p.keys[last_within(p, p.keys, s, p.options.typical_p)];
  for (std::size_t i = 0; i < p.scores.size(); ++i) {
    if (p.keys[i] < furthest) p.scores[i] = kRemoved;
  }
}

void cut_epsilon(const Processing& p) {
  const float always = always_kept(p);
  const Softmax s = softmax(p.scratch, p.scores);
  if (s.sum == 0.0f) return;
  remove_lighter(p, p.options.epsilon_cutoff * s.sum, always);
}

// The thresholds are multiplied by the sum because the weights are not normalized. exp(-entropy) is
// exp(mean_score()) / sum, so the sum cancels in sqrt(eta) * exp(-entropy) * sum.
void cut_eta(const Processing& p) {
  const float eta = p.options.eta_cutoff;
  const float always = always_kept(p);
  const Softmax s = softmax(p.scratch, p.scores);
  if (s.sum == 0.0f) return;
  const float by_entropy = std::sqrt(eta) * exp_of(mean_score(s, p.scratch, p.scores));
  remove_lighter(p, std::min(eta * s.sum, by_entropy), always);
}

}  // namespace

void add_filters(std::vector<Processor>& list, const SamplingOptions& o) {
  const auto add = [&list](bool is_wanted, Processor processor) {
    if (is_wanted) list.push_back(processor);
  };
  // If there are other processors, this one runs even with temperature 1, because it limits scores
  // that they have made infinite.
  add(o.temperature != 1.0f || !list.empty(), divide_by_temperature);
  add(o.top_h > 0.0f, keep_top_h);
  add(o.top_k != 0, keep_top_k);
  add(o.top_n_sigma > 0.0f, keep_top_n_sigma);
  add(o.top_p < 1.0f, keep_top_p);
  add(o.min_p > 0.0f, keep_min_p);
  add(o.typical_p < 1.0f, keep_typical);
  add(o.epsilon_cutoff > 0.0f, cut_epsilon);
  add(o.eta_cutoff > 0.0f, cut_eta);
}

}  // namespace gpt2
