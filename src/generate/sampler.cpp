#include "gpt2/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "generate/philox.h"
#include "gpt2/error.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLeastTemperature = 1e-6f;

// The k-th largest value: a heap of the k best seen so far, its least one on top. Almost every
// value of a long row fails the first comparison.
float kth_largest(std::span<const float> values, std::size_t k, std::vector<float>& heap) {
  const std::greater<float> above;
  heap.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k));
  std::make_heap(heap.begin(), heap.end(), above);
  for (const float value : values.subspan(k)) {
    if (value <= heap.front()) continue;
    std::pop_heap(heap.begin(), heap.end(), above);
    heap.back() = value;
    std::push_heap(heap.begin(), heap.end(), above);
  }
  return heap.front();
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, std::size_t vocab_size)
    : options_(options), scores_(vocab_size), noise_(vocab_size), bits_((vocab_size + 3) / 4 * 4) {
  order_.reserve(vocab_size);
  heap_.reserve(vocab_size);
  const float temperature = options.temperature;
  if (!(temperature == 0.0f || temperature >= kLeastTemperature) || !std::isfinite(temperature)) {
    throw Error(ErrorCode::invalid_argument,
                "temperature must be 0 (greedy) or a finite number from 1e-6, got " +
                    std::to_string(temperature));
  }
  if (!(options.top_p >= 0.0f && options.top_p <= 1.0f)) {
    throw Error(ErrorCode::invalid_argument,
                "top_p must be between 0 and 1, got " + std::to_string(options.top_p));
  }
}

std::span<const float> Sampler::process(std::span<const float> logits) {
  check(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    scores_[i] = std::min(logits[i] / options_.temperature, kLargest);
  }
  keep_top_k();
  keep_top_p();
  return scores_;
}

TokenId Sampler::sample(std::span<const float> logits, std::size_t position) {
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
    throw Error(ErrorCode::invalid_argument, "this sampler takes " +
                                                 std::to_string(scores_.size()) + " logits, got " +
                                                 std::to_string(logits.size()));
  }
  bool bad = false;
  bool any = false;
  for (const float logit : logits) {
    bad |= !(logit <= kLargest);  // NaN, +infinity
    any |= logit > kRemoved;
  }
  if (bad || !any) {
    throw Error(ErrorCode::invalid_argument,
                std::string("the model's logits ") +
                    (bad ? "contain NaN or infinity" : "are all minus infinity") +
                    ": its weights are damaged, or overflow");
  }
}

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || options_.top_k >= scores_.size()) return;
  const float least = kth_largest(scores_, options_.top_k, heap_);
  for (float& score : scores_) score = score < least ? kRemoved : score;
}

// A token stays while the probabilities of those before it (logit descending, then id ascending)
// sum to less than top_p: HuggingFace's rule, seen from the other end. The first always stays.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1.0f) return;
  const float max = scores_[kernels().argmax(scores_.data(), scores_.size())];
  std::vector<float>& probability = noise_;
  const double mass = static_cast<double>(options_.top_p) *
                      kernels().exp_sum(probability.data(), scores_.data(), max, scores_.size());
  order_.clear();
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (probability[i] > 0.0f) order_.push_back(static_cast<TokenId>(i));
  }
  if (order_.empty()) return;  // every score is minus infinity: none is likelier than another
  const auto after = [this](TokenId a, TokenId b) {
    const float score_a = scores_[static_cast<std::size_t>(a)];
    const float score_b = scores_[static_cast<std::size_t>(b)];
    return score_a != score_b ? score_a < score_b : a > b;
  };
  std::make_heap(order_.begin(), order_.end(), after);
  auto end = order_.end();
  double sum = 0.0;
  do {
    std::pop_heap(order_.begin(), end, after);
    sum += static_cast<double>(probability[static_cast<std::size_t>(*--end)]);
  } while (sum < mass && end != order_.begin());

  const TokenId last = *end;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (after(static_cast<TokenId>(i), last)) scores_[i] = kRemoved;
  }
}

// Noise is a function of (seed, sequence, position, id): four neighbouring ids share one Philox
// block.
void Sampler::add_noise(std::size_t position) {
  const std::array<std::uint32_t, 2> key = {static_cast<std::uint32_t>(options_.seed),
                                            static_cast<std::uint32_t>(options_.seed >> 32)};
  for (std::size_t id = 0; id < scores_.size(); id += 4) {
    const auto first = scores_.begin() + static_cast<std::ptrdiff_t>(id);
    const auto last =
        first + static_cast<std::ptrdiff_t>(std::min<std::size_t>(4, scores_.size() - id));
    if (std::all_of(first, last, [](float score) { return score == kRemoved; })) continue;
    const auto words =
        philox4x32({static_cast<std::uint32_t>(id / 4), static_cast<std::uint32_t>(position),
                    static_cast<std::uint32_t>(options_.sequence),
                    static_cast<std::uint32_t>(options_.sequence >> 32)},
                   key);
    std::copy(words.begin(), words.end(), bits_.begin() + static_cast<std::ptrdiff_t>(id));
  }
  kernels().gumbel(noise_.data(), bits_.data(), noise_.size());
  kernels().add(scores_.data(), noise_.data(), scores_.size());
}

}  // namespace gpt2
