#include "cli/hf_defaults.h"

#include <algorithm>
#include <initializer_list>

#include "cli/beam_settings.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

// Whether options were given that replace or exclude --samples.
bool asks_for_one_text(const GenerateSettings& settings, const CLI::App& app) {
  const std::initializer_list<const char*> options = {"--samples",    "--greedy", "--draft",
                                                      "--no-newline", "--state",  "--save-state",
                                                      "--interactive"};
  return settings.beams.num_beams > 1 || settings.generation.sampling.temperature == 0.0f ||
         std::ranges::any_of(options, [&](const char* option) { return app.count(option) != 0; });
}

}  // namespace

void take_hf_defaults(GenerateSettings& settings, const CLI::App& app) {
  const auto config = GenerationConfig::load(settings.model);
  take_beam_defaults(app, settings.beams, config.beams);
  SamplingOptions& sampling = settings.generation.sampling;
  const auto take = [&](const char* option, auto member) {
    if (app.count(option) == 0) sampling.*member = config.sampling.*member;
  };
  if (app.count("--greedy") == 0) take("--temperature", &SamplingOptions::temperature);
  take("--top-k", &SamplingOptions::top_k);
  take("--top-p", &SamplingOptions::top_p);
  take("--min-p", &SamplingOptions::min_p);
  take("--typical-p", &SamplingOptions::typical_p);
  take("--epsilon-cutoff", &SamplingOptions::epsilon_cutoff);
  take("--eta-cutoff", &SamplingOptions::eta_cutoff);
  take("--sequence-bias", &SamplingOptions::sequence_bias);
  take("--repetition-penalty", &SamplingOptions::repetition_penalty);
  take("--no-repeat-ngram-size", &SamplingOptions::no_repeat_ngram_size);
  take("--bad-words", &SamplingOptions::bad_words_ids);
  take("--min-length", &SamplingOptions::min_length);
  take("--min-new-tokens", &SamplingOptions::min_new_tokens);
  take("--forced-bos-token-id", &SamplingOptions::forced_bos_token_id);
  take("--forced-eos-token-id", &SamplingOptions::forced_eos_token_id);
  take("--remove-invalid-values", &SamplingOptions::remove_invalid_values);
  take("--exponential-decay-length-penalty", &SamplingOptions::exponential_decay_length_penalty);
  take("--suppress-tokens", &SamplingOptions::suppress_tokens);
  take("--begin-suppress-tokens", &SamplingOptions::begin_suppress_tokens);
  take("--renormalize-logits", &SamplingOptions::renormalize_logits);
  if (!asks_for_one_text(settings, app)) settings.samples = config.num_return_sequences;
  if (app.count("--max-new-tokens") != 0) return;
  if (!config.max_new_tokens) settings.max_length = config.max_length;
  settings.generation.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
}

}  // namespace gpt2::cli
