#include "cli/hf_defaults.h"

#include <algorithm>
#include <initializer_list>

#include "cli/beam_settings.h"
#include "cli/take_sampling.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

// Returns whether options were given that replace or exclude --samples.
bool asks_for_one_text(const GenerateSettings& settings, const CLI::App& app) {
  const std::initializer_list<const char*> options = {"--samples",    "--greedy", "--draft",
                                                      "--no-newline", "--state",  "--save-state",
                                                      "--interactive"};
  return settings.beams.num_beams > 1 || settings.generation.sampling.temperature == 0.0f ||
         std::ranges::any_of(options, [&](const char* name) {
           const CLI::Option* const option = app.get_option_no_throw(name);
           return option != nullptr && option->count() != 0;
         });
}

// Returns the option of the command for HuggingFace's name of an option.
std::string option_of(std::string name) {
  if (name == "bad_words_ids") return "--bad-words";
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// Takes the settings of beam search. A command without beam search refuses them, because its texts
// would differ from HuggingFace's.
void take_beams(GenerateSettings& settings, const CLI::App& app, const BeamOptions& beams) {
  if (app.get_option_no_throw("--num-beams") != nullptr) {
    take_beam_defaults(app, settings.beams, beams);
  } else if (beams.num_beams > 1) {
    throw UsageError("--hf-defaults",
                     format("num_beams in the model's generation config is %zu, but this command "
                            "has no beam search: leave --hf-defaults out",
                            beams.num_beams));
  }
}

}  // namespace

void take_hf_defaults(GenerateSettings& settings, const CLI::App& app) {
  const auto config = GenerationConfig::load(settings.model);
  take_beams(settings, app, config.beams);
  take_sampling(settings.generation.sampling, config.sampling, [&](const std::string& name) {
    const bool is_greedy = name == "temperature" && app.count("--greedy") != 0;
    return !is_greedy && app.count(option_of(name)) == 0;
  });
  if (!asks_for_one_text(settings, app)) settings.samples = config.num_return_sequences;
  if (app.count("--max-new-tokens") != 0) return;
  if (!config.max_new_tokens) settings.max_length = config.max_length;
  settings.generation.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
}

}  // namespace gpt2::cli
