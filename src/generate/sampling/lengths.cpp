#include <algorithm>
#include <cmath>
#include <limits>

#include "generate/sampling/processor.h"

namespace gpt2 {
namespace {

void remove_eos(const Processing& p) {
  for (const TokenId id : p.limits.eos_token_id) p.score(id) = kRemoved;
}

void force(const Processing& p, std::span<const TokenId> ids) {
  std::ranges::fill(p.scores, kRemoved);
  for (const TokenId id : ids) p.score(id) = 0.0f;
}

}  // namespace

void require_min_length(const Processing& p) {
  if (p.ids.size() < p.options.min_length) remove_eos(p);
}

void require_min_new_tokens(const Processing& p) {
  const std::size_t prompt = p.limits.prompt_length;
  if (p.ids.size() < prompt || p.ids.size() - prompt < p.options.min_new_tokens) remove_eos(p);
}

void force_bos(const Processing& p) {
  if (p.ids.size() == 1) force(p, std::span(&*p.options.forced_bos_token_id, 1));
}

void force_eos(const Processing& p) {
  if (p.ids.size() == p.limits.max_length - 1) force(p, p.options.forced_eos_token_id);
}

void raise_eos_with_length(const Processing& p) {
  const auto [start, factor] = *p.options.exponential_decay_length_penalty;
  const std::size_t prompt = p.limits.prompt_length;
  if (p.ids.size() <= prompt || p.ids.size() - prompt <= start) return;
  // Repeated multiplication gives the same bits on every machine, unlike pow().
  double power = 1.0;
  for (std::size_t n = p.ids.size() - prompt - start; n > 0; --n) power *= factor;
  constexpr double kLargest = std::numeric_limits<float>::max();
  const auto growth = static_cast<float>(std::min(power - 1.0, kLargest));
  for (const TokenId id : p.limits.eos_token_id) {
    float& score = p.score(id);
    if (std::isfinite(score)) score += std::abs(score) * growth;
  }
}

}  // namespace gpt2
