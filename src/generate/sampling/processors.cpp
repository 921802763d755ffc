#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/fail.h"
#include "generate/sampling/processor.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();

// Returns whether the last id of `sequence` would complete it after `ids`. A sequence of one id is
// always completed. REQUIRES: sequence is not empty.
bool would_complete(std::span<const TokenId> sequence, std::span<const TokenId> ids) {
  const auto before = sequence.first(sequence.size() - 1);
  return before.size() <= ids.size() && std::ranges::equal(before, ids.last(before.size()));
}

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

void ban_repeated_ngrams(const Processing& p) {
  const std::size_t n = p.options.no_repeat_ngram_size;
  if (n > p.ids.size()) return;
  const auto last = p.ids.last(n - 1);
  for (std::size_t begin = 0; begin + n <= p.ids.size(); ++begin) {
    const auto ngram = p.ids.subspan(begin, n);
    if (std::ranges::equal(ngram.first(n - 1), last)) p.score(ngram.back()) = kRemoved;
  }
}

void ban_bad_words(const Processing& p) {
  for (const auto& word : p.options.bad_words_ids) {
    const bool is_eos =
        word.size() == 1 && std::ranges::count(p.limits.eos_token_id, word.front()) != 0;
    if (!is_eos && would_complete(word, p.ids)) p.score(word.back()) = kRemoved;
  }
}

void suppress(const Processing& p) {
  for (const TokenId id : p.options.suppress_tokens) p.score(id) = kRemoved;
}

void suppress_at_begin(const Processing& p) {
  // If forced_bos_token_id determines the first token after a prompt of one token, this option
  // applies to the second one.
  const bool follows_forced =
      p.limits.prompt_length <= 1 && p.options.forced_bos_token_id.has_value();
  if (p.ids.size() != p.limits.prompt_length + (follows_forced ? 1 : 0)) return;
  for (const TokenId id : p.options.begin_suppress_tokens) p.score(id) = kRemoved;
}

void remove_eos(const Processing& p) {
  for (const TokenId id : p.limits.eos_token_id) p.score(id) = kRemoved;
}

void force(const Processing& p, std::span<const TokenId> ids) {
  std::ranges::fill(p.scores, kRemoved);
  for (const TokenId id : ids) p.score(id) = 0.0f;
}

void require_min_length(const Processing& p) {
  if (p.ids.size() < p.options.min_length) remove_eos(p);
}

void require_min_new_tokens(const Processing& p) {
  const std::size_t prompt = p.limits.prompt_length;
  if (p.ids.size() < prompt || p.ids.size() - prompt < *p.options.min_new_tokens) remove_eos(p);
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
  const auto growth = static_cast<float>(std::min(power - 1.0, double{kMaxFloat}));
  for (const TokenId id : p.limits.eos_token_id) {
    float& score = p.score(id);
    if (std::isfinite(score)) score += std::abs(score) * growth;
  }
}

// The processors that use ids as indices rely on this one. It also runs before those that only
// compare ids, so that every option reports an unknown id in the same way.
void require_known_ids(const Processing& p) {
  const auto is_unknown = [&](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= p.scores.size();
  };
  const auto found = std::ranges::find_if(p.ids, is_unknown);
  if (found == p.ids.end()) return;
  reject("token ", found - p.ids.begin(), " of the sequence is ", *found,
         ", which is outside the vocabulary of ", p.scores.size());
}

void remove_invalid_values(const Processing& p) {
  for (float& score : p.scores) {
    score = std::isnan(score) ? 0.0f : std::clamp(score, -kMaxFloat, kMaxFloat);
  }
}

void call_processors(const Processing& p) {
  for (const LogitsProcessor& processor : p.options.processors) processor(p.scores, p.ids);
  const auto is_nan = [](float score) { return std::isnan(score); };
  const auto found = std::ranges::find_if(p.scores, is_nan);
  if (found == p.scores.end()) return;
  reject("a logits processor wrote NaN as the score of token ", found - p.scores.begin(),
         ": give every score a value, or -infinity to remove the token");
}

// Limits the scores first, because the processors before this one may have made a score infinite.
void renormalize(const Processing& p) {
  for (float& score : p.scores) score = std::min(score, kMaxFloat);
  log_softmax(p.scratch, p.scores);
  std::ranges::copy(p.scratch, p.scores.begin());
}

}  // namespace

// The order is that of HuggingFace's _get_logits_processor. HuggingFace does not have OpenAI's
// logit_bias and penalties. They follow sequence_bias, before everything that multiplies scores,
// because OpenAI defines them on the model's own logits, and so that a token that a later processor
// removes or forces stays removed or forced. top_n_sigma follows top_k, the other filter that looks
// at scores and not at probabilities.
std::vector<Processor> processors_for(const SamplingOptions& o) {
  std::vector<Processor> list;
  const auto add = [&list](bool is_wanted, Processor processor) {
    if (is_wanted) list.push_back(processor);
  };
  const bool counts = o.presence_penalty != 0.0f || o.frequency_penalty != 0.0f;
  const bool penalizes = o.repetition_penalty != 1.0f;
  const bool bans_ngrams = o.no_repeat_ngram_size != 0;
  const bool compares = !o.sequence_bias.empty() || !o.bad_words_ids.empty();
  add(counts || penalizes || bans_ngrams || compares, require_known_ids);
  add(!o.sequence_bias.empty(), add_sequence_bias);
  add(!o.logit_bias.empty(), add_logit_bias);
  add(counts, penalize_presence_and_frequency);
  add(penalizes, penalize_repetition);
  add(bans_ngrams, ban_repeated_ngrams);
  add(!o.bad_words_ids.empty(), ban_bad_words);
  add(o.min_length != 0 && !o.min_new_tokens, require_min_length);
  add(o.min_new_tokens.value_or(0) != 0, require_min_new_tokens);
  add(o.forced_bos_token_id.has_value(), force_bos);
  add(!o.forced_eos_token_id.empty(), force_eos);
  add(o.remove_invalid_values, remove_invalid_values);
  add(o.exponential_decay_length_penalty.has_value(), raise_eos_with_length);
  add(!o.suppress_tokens.empty(), suppress);
  add(!o.begin_suppress_tokens.empty(), suppress_at_begin);
  add(!o.processors.empty(), call_processors);
  if (o.temperature != 0.0f) add_filters(list, o);
  add(o.renormalize_logits, renormalize);
  return list;
}

}  // namespace gpt2
