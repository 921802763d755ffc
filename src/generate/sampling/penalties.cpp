#include <algorithm>
#include <cstddef>

#include "generate/sampling/processor.h"
#include "generate/sampling/sequences.h"

namespace gpt2 {

// The Sampler has sorted the biases by their last id. The biases of one token are therefore
// adjacent, and this function adds them up before it adds their sum to the score, as HuggingFace
// does.
void add_sequence_bias(const Processing& p) {
  const auto& all = p.options.sequence_bias;
  for (auto entry = all.begin(); entry != all.end();) {
    const TokenId last = entry->ids.back();
    float bias = 0.0f;
    for (; entry != all.end() && entry->ids.back() == last; ++entry) {
      if (would_complete(entry->ids, p.ids)) bias += entry->bias;
    }
    p.score(last) += bias;
  }
}

void add_logit_bias(const Processing& p) {
  for (const auto& [id, bias] : p.options.logit_bias) p.score(id) += bias;
}

// Counts the tokens in `scratch`. Sets and reads only the elements of tokens that occur in the
// text.
void penalize_presence_and_frequency(const Processing& p) {
  const auto written = p.ids.subspan(std::min(p.limits.prompt_length, p.ids.size()));
  const auto count = [&p](TokenId id) -> float& { return p.scratch[static_cast<std::size_t>(id)]; };
  for (const TokenId id : written) count(id) = 0.0f;
  for (const TokenId id : written) ++count(id);
  for (const TokenId id : written) {
    if (count(id) == 0.0f) continue;  // this token has already been penalized
    p.score(id) -= p.options.presence_penalty + p.options.frequency_penalty * count(id);
    count(id) = 0.0f;
  }
}

// Computes all new scores before it stores any, so that a token that occurs several times is
// penalized once.
void penalize_repetition(const Processing& p) {
  const float penalty = p.options.repetition_penalty;
  for (const TokenId id : p.ids) {
    const float score = p.score(id);
    p.scratch[static_cast<std::size_t>(id)] = score < 0.0f ? score * penalty : score / penalty;
  }
  for (const TokenId id : p.ids) p.score(id) = p.scratch[static_cast<std::size_t>(id)];
}

}  // namespace gpt2
