#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "c_api/arguments.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "gpt2/generation_config.h"
#include "gpt2/model_files.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

struct ConfigStorage {
  GenerationConfig config;  // has the ids that the members below point to
  std::vector<gpt2_sequence_bias> sequence_bias;
  std::vector<gpt2_ids> bad_words_ids;
  gpt2_sampling_options sampling;
  gpt2_beam_options beams;
};
using OwnedConfig = Owned<gpt2_generation_config, ConfigStorage>;

gpt2_ids ids_of(const std::vector<TokenId>& ids) { return {ids.data(), ids.size()}; }

// Members that a generation_config.json cannot set, such as seed, keep their defaults.
void fill_sampling(ConfigStorage& storage) {
  const SamplingOptions& from = storage.config.sampling;
  for (const SequenceBias& bias : from.sequence_bias) {
    storage.sequence_bias.push_back({ids_of(bias.ids), bias.bias});
  }
  for (const auto& word : from.bad_words_ids) storage.bad_words_ids.push_back(ids_of(word));
  gpt2_sampling_options& to = storage.sampling = options_of<gpt2_sampling_options>(nullptr);
  to.temperature = from.temperature;
  to.top_p = from.top_p;
  to.top_k = from.top_k;
  to.min_p = from.min_p;
  to.typical_p = from.typical_p;
  to.epsilon_cutoff = from.epsilon_cutoff;
  to.eta_cutoff = from.eta_cutoff;
  to.repetition_penalty = from.repetition_penalty;
  to.remove_invalid_values = from.remove_invalid_values;
  to.no_repeat_ngram_size = from.no_repeat_ngram_size;
  to.min_length = from.min_length;
  to.min_new_tokens = from.min_new_tokens;
  to.sequence_bias = storage.sequence_bias.data();
  to.n_sequence_bias = storage.sequence_bias.size();
  to.bad_words_ids = storage.bad_words_ids.data();
  to.n_bad_words_ids = storage.bad_words_ids.size();
  to.suppress_tokens = ids_of(from.suppress_tokens);
  to.begin_suppress_tokens = ids_of(from.begin_suppress_tokens);
  to.forced_eos_token_id = ids_of(from.forced_eos_token_id);
  to.forced_bos_token_id = from.forced_bos_token_id.value_or(-1);
  to.renormalize_logits = from.renormalize_logits;
  if (!from.exponential_decay_length_penalty) return;
  to.decay_start = from.exponential_decay_length_penalty->start;
  to.decay_factor = from.exponential_decay_length_penalty->factor;
}

void fill_beams(ConfigStorage& storage) {
  const BeamOptions& from = storage.config.beams;
  gpt2_beam_options& to = storage.beams = options_of<gpt2_beam_options>(nullptr);
  to.num_beams = from.num_beams;
  to.num_return_sequences = from.num_return_sequences;
  to.length_penalty = from.length_penalty;
  to.early_stopping = static_cast<gpt2_early_stopping>(from.early_stopping);
  to.num_beam_groups = from.num_beam_groups;
  to.diversity_penalty = from.diversity_penalty;
  to.pad_token_id = from.pad_token_id.value_or(-1);
  to.sampling = &storage.sampling;
}

std::unique_ptr<OwnedConfig> make_config(GenerationConfig loaded) {
  auto made = std::make_unique<OwnedConfig>(
      ConfigStorage{std::move(loaded), {}, {}, gpt2_sampling_options{}, gpt2_beam_options{}});
  ConfigStorage& storage = made->storage;
  fill_sampling(storage);
  fill_beams(storage);
  const GenerationConfig& config = storage.config;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  gpt2_generation_config& result = *made;
  result = {.do_sample = config.do_sample,
            .sampling = &storage.sampling,
            .beams = &storage.beams,
            .num_return_sequences = config.num_return_sequences,
            .max_length = config.max_length,
            .max_new_tokens = config.max_new_tokens.value_or(kNone)};
  return made;
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_generation_config_load(const char* name, gpt2_generation_config** out) {
  return guard_new(out, [&] {
    const auto path = gpt2::find_model(c_string(name, "the name of the model"));
    return make_config(gpt2::GenerationConfig::load(path));
  });
}

void gpt2_generation_config_free(gpt2_generation_config* config) {
  free_result<OwnedConfig>(config);
}
