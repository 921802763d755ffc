#include "c_api/arguments.h"
#include "c_api/option_values.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "c_api/sampling_arguments.h"
#include "gpt2/beam_search.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {

void set_defaults(gpt2_beam_options& options) {
  const BeamSearchOptions defaults;
  OptionStorage none;
  fill(options, defaults.beams, none);
  options.max_new_tokens = defaults.max_new_tokens;
}

namespace {

struct BeamsStorage {
  std::vector<BeamSequence> sequences;
  std::vector<gpt2_beam> beams;
};
using OwnedBeams = Owned<gpt2_beams, BeamsStorage>;

std::unique_ptr<OwnedBeams> make_beams(std::vector<BeamSequence> sequences) {
  auto made = std::make_unique<OwnedBeams>(BeamsStorage{std::move(sequences), {}});
  auto& [found, beams] = made->storage;
  for (const BeamSequence& sequence : found) {
    beams.push_back({.tokens = sequence.tokens.data(),
                     .n_tokens = sequence.tokens.size(),
                     .text = sequence.text.c_str(),
                     .n_text = sequence.text.size(),
                     .score = sequence.score,
                     .finish_reason = static_cast<gpt2_finish_reason>(sequence.finish_reason)});
  }
  made->data = beams.data();
  made->count = beams.size();
  return made;
}

std::function<bool(const BeamStep&)> on_step_of(gpt2_on_step on_step, void* user,
                                                const CancelFlag& cancel) {
  return [on_step, user, cancel](const BeamStep& step) {
    const gpt2_beam_step seen = {.new_tokens = step.new_tokens,
                                 .num_beams = step.tokens.size(),
                                 .tokens = step.tokens.data(),
                                 .parents = step.parents.data(),
                                 .scores = step.scores.data(),
                                 .best = step.best.data(),
                                 .n_best = step.best.size(),
                                 .logits_hash = step.logits_hash};
    return !cancel.is_set() && (!on_step || on_step(user, &seen));
  };
}

BeamSearchOptions search_options_of(const gpt2_beam_options& given,
                                    const gpt2_tokenizer* tokenizer) {
  const CancelFlag cancel(given.cancel);
  return {.beams = beams_from(given),
          .max_new_tokens = given.max_new_tokens,
          .sampling = sampling_of(given.sampling),
          .stop_tokens = list_of(given.stop_tokens, "stop_tokens"),
          .ignore_eos = given.ignore_eos != 0,
          .tokenizer = optional_tokenizer(tokenizer),
          .hash_logits = given.hash_logits != 0,
          .on_prompt = prompt_callback_of(given.on_prompt, given.user, cancel),
          .on_step = on_step_of(given.on_step, given.user, cancel)};
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_beam_search(const gpt2_model* model, const gpt2_tokenizer* tokenizer,
                             const gpt2_token* prompt, size_t n_prompt,
                             const gpt2_beam_options* options, gpt2_beams** out) {
  return guard_new(out, [&] {
    const gpt2_beam_options given = options_of(options);
    const gpt2::Engine engine = engine_for(model, given.engine);
    return make_beams(gpt2::beam_search(engine, span_of(prompt, n_prompt, "the prompt"),
                                        search_options_of(given, tokenizer)));
  });
}

void gpt2_beams_free(gpt2_beams* beams) { free_result<OwnedBeams>(beams); }
