#include <limits>
#include <memory>
#include <utility>

#include "c_api/arguments.h"
#include "c_api/option_values.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "gpt2/generation_config.h"
#include "gpt2/model_files.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

struct ConfigStorage {
  GenerationConfig config;  // has the ids that the members below point to
  OptionStorage arrays;
  gpt2_sampling_options sampling;
  gpt2_beam_options beams;
};
using OwnedConfig = Owned<gpt2_generation_config, ConfigStorage>;

std::unique_ptr<OwnedConfig> make_config(GenerationConfig loaded) {
  auto made = std::make_unique<OwnedConfig>(
      ConfigStorage{std::move(loaded), {}, gpt2_sampling_options{}, gpt2_beam_options{}});
  ConfigStorage& storage = made->storage;
  const GenerationConfig& config = storage.config;
  storage.sampling = options_of<gpt2_sampling_options>(nullptr);
  fill(storage.sampling, config.sampling, storage.arrays);
  storage.beams = options_of<gpt2_beam_options>(nullptr);
  fill(storage.beams, config.beams, storage.arrays);
  storage.beams.sampling = &storage.sampling;
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
