#include <algorithm>

#include "generate/sampling/processor.h"

namespace gpt2 {

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
  add(o.min_length != 0, require_min_length);
  add(o.min_new_tokens != 0, require_min_new_tokens);
  add(o.forced_bos_token_id.has_value(), force_bos);
  add(!o.forced_eos_token_id.empty(), force_eos);
  add(o.remove_invalid_values, remove_invalid_values);
  add(o.exponential_decay_length_penalty.has_value(), raise_eos_with_length);
  add(!o.suppress_tokens.empty(), suppress);
  add(!o.begin_suppress_tokens.empty(), suppress_at_begin);
  add(!o.processors.empty(), call_processors);
  if (o.temperature != 0.0f) {
    // If there are other processors, this one runs even with temperature 1, because it limits
    // scores that they have made infinite.
    add(o.temperature != 1.0f || !list.empty(), divide_by_temperature);
    add(o.top_k != 0, keep_top_k);
    add(o.top_n_sigma > 0.0f, keep_top_n_sigma);
    add(o.top_p < 1.0f, keep_top_p);
    add(o.min_p > 0.0f, keep_min_p);
    add(o.typical_p < 1.0f, keep_typical);
    add(o.epsilon_cutoff > 0.0f, cut_epsilon);
    add(o.eta_cutoff > 0.0f, cut_eta);
  }
  add(o.renormalize_logits, renormalize);
  return list;
}

}  // namespace gpt2
