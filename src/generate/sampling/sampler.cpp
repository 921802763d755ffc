#include "gpt2/sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/fail.h"
#include "base/system/threads.h"
#include "base/text.h"
#include "generate/options/option_codec.h"
#include "generate/sampling/processor.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

std::size_t checked(std::size_t vocab_size) {
  constexpr std::size_t kMax = std::numeric_limits<TokenId>::max();
  if (vocab_size > 0 && vocab_size <= kMax) return vocab_size;
  reject("a sampler's vocab_size must be from 1 to ", kMax, ", got ", vocab_size);
}

}  // namespace

void require_token(float best, std::size_t n_tokens) {
  if (best != kRemoved) return;
  reject("no token is left to choose after ", counted(n_tokens, "token"),
         ": the options have removed all of them");
}

Sampler::Sampler(const SamplingOptions& options, std::size_t vocab_size,
                 const SequenceLimits& limits)
    : options_(options),
      limits_(limits),
      scores_(checked(vocab_size)),
      noise_((vocab_size + 3) / 4 * 4),
      drawn_(noise_.size()),
      bits_(noise_.size()) {
  require_isa();
  const DefaultFloatState state;
  check_options(options, vocab_size);
  if (options.typical_p < 1.0f) keys_.resize(vocab_size);
  order_.reserve(vocab_size);

  const auto last_id = [](const SequenceBias& bias) { return bias.ids.back(); };
  std::ranges::stable_sort(options_.sequence_bias, {}, last_id);
  std::vector<TokenId>& eos = limits_.eos_token_id;
  std::ranges::sort(eos);
  eos.erase(std::unique(eos.begin(), eos.end()), eos.end());
  std::erase_if(eos, [vocab_size](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= vocab_size;
  });
  limits_.min_tokens_to_keep = std::max(limits_.min_tokens_to_keep, std::size_t{1});
  list_ = processors_for(options_);
}

std::span<const float> Sampler::process(std::span<const float> logits,
                                        std::span<const TokenId> ids) {
  const DefaultFloatState state;
  check(logits);
  std::ranges::copy(logits, scores_.begin());
  const auto scratch = std::span(noise_).first(scores_.size());
  const Processing processing = {scores_, ids, options_, limits_, scratch, keys_, order_};
  for (const Processor processor : list_) processor(processing);
  return scores_;
}

TokenId Sampler::sample(std::span<const float> logits, std::span<const TokenId> ids) {
  const DefaultFloatState state;
  const bool draws = options_.temperature != 0.0f;
  if (!draws && list_.empty()) {
    check(logits);
    return static_cast<TokenId>(kernels().argmax(logits.data(), logits.size()));
  }
  static_cast<void>(process(logits, ids));
  const std::size_t best = kernels().argmax(scores_.data(), scores_.size());
  require_token(scores_[best], ids.size());
  return draws ? draw(limits_.dropped + ids.size()) : static_cast<TokenId>(best);
}

void Sampler::check(std::span<const float> logits) const {
  if (logits.size() != scores_.size()) {
    reject("this sampler takes ", scores_.size(), " logits, got ", logits.size());
  }
  if (options_.remove_invalid_values && !logits.empty()) return;
  std::uint32_t bad = 0;  // numbers, not bools: a loop over bools would not be vectorized
  std::uint32_t any = 0;
  for (const float logit : logits) {
    bad |= static_cast<std::uint32_t>(!(logit <= std::numeric_limits<float>::max()));  // NaN, +inf
    any |= static_cast<std::uint32_t>(logit > kRemoved);
  }
  if (bad != 0 || any == 0) {
    reject("the logits ", bad != 0 ? "contain NaN or infinity" : "are all minus infinity",
           ": if a model computed them, its weights are damaged, or overflow");
  }
}

// Noise is a function of seed, sequence, position and id. A Philox block yields four words, for
// four consecutive ids. Only blocks with at least one token left are generated, and they are stored
// contiguously, so that noise is computed for few tokens after a filter such as top_k.
TokenId Sampler::draw(std::size_t position) {
  order_.clear();  // the blocks
  std::size_t count = 0;
  for (std::size_t id = 0; id < scores_.size(); id += 4) {
    float four[4];
    for (std::size_t i = 0; i < 4; ++i) {
      four[i] = id + i < scores_.size() ? scores_[id + i] : kRemoved;
    }
    if (std::max(std::max(four[0], four[1]), std::max(four[2], four[3])) == kRemoved) continue;
    std::copy(four, four + 4, &drawn_[count]);
    order_.push_back(static_cast<std::uint32_t>(id / 4));
    count += 4;
  }
  const PhiloxStream stream = {static_cast<std::uint32_t>(position), options_.sequence,
                               options_.seed};
  kernels().philox(bits_.data(), order_.data(), order_.size(), stream);
  kernels().gumbel(noise_.data(), bits_.data(), count);
  kernels().add(drawn_.data(), noise_.data(), count);
  const std::size_t best = kernels().argmax(drawn_.data(), count);
  return static_cast<TokenId>(4 * order_[best / 4] + best % 4);
}

}  // namespace gpt2
