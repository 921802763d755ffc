#include "cli/take_sampling.h"

namespace gpt2::cli {

void take_sampling(SamplingOptions& to, const SamplingOptions& from,
                   const std::function<bool(const std::string& name)>& takes) {
  const auto take = [&](const char* name, auto member) {
    if (takes(name)) to.*member = from.*member;
  };
  take("temperature", &SamplingOptions::temperature);
  take("top_k", &SamplingOptions::top_k);
  take("top_p", &SamplingOptions::top_p);
  take("min_p", &SamplingOptions::min_p);
  take("typical_p", &SamplingOptions::typical_p);
  take("epsilon_cutoff", &SamplingOptions::epsilon_cutoff);
  take("eta_cutoff", &SamplingOptions::eta_cutoff);
  take("sequence_bias", &SamplingOptions::sequence_bias);
  take("repetition_penalty", &SamplingOptions::repetition_penalty);
  take("no_repeat_ngram_size", &SamplingOptions::no_repeat_ngram_size);
  take("bad_words_ids", &SamplingOptions::bad_words_ids);
  take("min_length", &SamplingOptions::min_length);
  take("min_new_tokens", &SamplingOptions::min_new_tokens);
  take("forced_bos_token_id", &SamplingOptions::forced_bos_token_id);
  take("forced_eos_token_id", &SamplingOptions::forced_eos_token_id);
  take("remove_invalid_values", &SamplingOptions::remove_invalid_values);
  take("exponential_decay_length_penalty", &SamplingOptions::exponential_decay_length_penalty);
  take("suppress_tokens", &SamplingOptions::suppress_tokens);
  take("begin_suppress_tokens", &SamplingOptions::begin_suppress_tokens);
  take("renormalize_logits", &SamplingOptions::renormalize_logits);
}

}  // namespace gpt2::cli
