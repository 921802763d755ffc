#include "gpt2/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/fail.h"
#include "base/float_state.h"
#include "generate/philox.h"
#include "kernels/kernels.h"

namespace gpt2 {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

Sampler::Sampler(const SamplingOptions& options, std::size_t vocab_size)
    : options_(options), scores_(vocab_size), noise_(vocab_size), bits_((vocab_size + 3) / 4 * 4) {
  require_isa();
  const DefaultFloatState state;
  order_.reserve(vocab_size);
  constexpr float kLeast = SamplingOptions::kMinTemperature;
  const float given = options.temperature;
  if (!(given == 0.0f || given >= kLeast) || !std::isfinite(given)) {
    reject("temperature must be 0 (greedy) or a finite number from ", kLeast, ", got ", given);
  }
  if (!(options.top_p >= 0.0f && options.top_p <= 1.0f)) {
    reject("top_p must be between 0 and 1, got ", options.top_p);
  }
}

std::span<const float> Sampler::process(std::span<const float> logits) {
  const DefaultFloatState state;
  check(logits);
  if (options_.temperature == 0.0f) {
    const std::size_t best = kernels().argmax(logits.data(), logits.size());
    std::ranges::fill(scores_, kRemoved);
    scores_[best] = logits[best];
    return scores_;
  }
  for (std::size_t i = 0; i < logits.size(); ++i) {
    // Only what the model itself rules out becomes minus infinity.
    const float scaled = logits[i] / options_.temperature;
    scores_[i] = logits[i] > kRemoved ? std::clamp(scaled, -kLargest, kLargest) : kRemoved;
  }
  keep_top_k();
  keep_top_p();
  return scores_;
}

TokenId Sampler::sample(std::span<const float> logits, std::size_t position) {
  const DefaultFloatState state;
  if (options_.temperature == 0.0f) {
    check(logits);
    return static_cast<TokenId>(kernels().argmax(logits.data(), logits.size()));
  }
  static_cast<void>(process(logits));
  add_noise(position);
  return static_cast<TokenId>(kernels().argmax(scores_.data(), scores_.size()));
}

void Sampler::check(std::span<const float> logits) const {
  if (logits.size() != scores_.size()) {
    reject("this sampler takes ", scores_.size(), " logits, got ", logits.size());
  }
  bool bad = false;
  bool any = false;
  for (const float logit : logits) {
    bad |= !(logit <= kLargest);  // NaN, +infinity
    any |= logit > kRemoved;
  }
  if (bad || !any) {
    reject("the model's logits ", bad ? "contain NaN or infinity" : "are all minus infinity",
           ": its weights are damaged, or overflow");
  }
}

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || options_.top_k >= scores_.size()) return;
  const auto largest = std::span(noise_).first(options_.top_k);  // noise is drawn only later
  std::ranges::partial_sort_copy(scores_, largest, std::greater<float>());
  const float least = largest.back();
  for (float& score : scores_) score = score < least ? kRemoved : score;
}

// Orders tokens by logit, descending, then id, ascending. A token stays if the probabilities of
// those before it sum to less than top_p; the first always stays. HuggingFace has the same rule: it
// removes tokens from the other end while what remains reaches top_p.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1.0f) return;
  const float max = scores_[kernels().argmax(scores_.data(), scores_.size())];
  std::vector<float>& probability = noise_;
  const double mass = static_cast<double>(options_.top_p) *
                      kernels().exp_sum(probability.data(), scores_.data(), max, scores_.size());
  order_.clear();
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (probability[i] > 0.0f) order_.push_back(static_cast<std::uint32_t>(i));
  }
  if (order_.empty()) return;  // every score is minus infinity
  const auto after = [this](std::size_t a, std::size_t b) {
    return scores_[a] != scores_[b] ? scores_[a] < scores_[b] : a > b;
  };
  std::make_heap(order_.begin(), order_.end(), after);
  auto end = order_.end();
  double sum = 0.0;
  do {
    std::pop_heap(order_.begin(), end, after);
    sum += static_cast<double>(probability[*--end]);
  } while (sum < mass && end != order_.begin());

  const std::uint32_t last = *end;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (after(i, last)) scores_[i] = kRemoved;
  }
}

// Noise is a function of seed, sequence, position and id. A Philox block gives four words, for four
// neighbouring ids; blocks whose tokens are all removed are skipped.
void Sampler::add_noise(std::size_t position) {
  const auto word = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const std::array key = {word(options_.seed), word(options_.seed >> 32)};
  for (std::size_t id = 0; id < scores_.size(); id += 4) {
    const auto four = std::span(scores_).subspan(id, std::min(std::size_t{4}, scores_.size() - id));
    if (std::count(four.begin(), four.end(), kRemoved) == std::ssize(four)) continue;
    const auto words = philox4x32(
        {word(id / 4), word(position), word(options_.sequence), word(options_.sequence >> 32)},
        key);
    std::copy(words.begin(), words.end(), &bits_[id]);
  }
  kernels().gumbel(noise_.data(), bits_.data(), noise_.size());
  kernels().add(scores_.data(), noise_.data(), scores_.size());
}

}  // namespace gpt2
