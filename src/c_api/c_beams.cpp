#include <optional>

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
  std::vector<std::string> texts;
  std::vector<gpt2_beam> beams;
};
using OwnedBeams = Owned<gpt2_beams, BeamsStorage>;

// Returns the text that gpt2_generate would write for the tokens.
std::string text_of(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  Utf8Stream characters;
  std::string text;
  for (const TokenId token : tokens) {
    if (!tokenizer.is_special(token)) text += characters.write(tokenizer.bytes(token));
  }
  return text += characters.flush();
}

std::unique_ptr<OwnedBeams> make_beams(std::vector<BeamSequence> sequences,
                                       const std::optional<Tokenizer>& tokenizer) {
  auto made = std::make_unique<OwnedBeams>(BeamsStorage{std::move(sequences), {}, {}});
  auto& [found, texts, beams] = made->storage;
  for (const BeamSequence& sequence : found) {
    texts.push_back(tokenizer ? text_of(*tokenizer, sequence.tokens) : "");
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    beams.push_back({.tokens = found[i].tokens.data(),
                     .n_tokens = found[i].tokens.size(),
                     .text = texts[i].c_str(),
                     .n_text = texts[i].size(),
                     .score = found[i].score,
                     .finish_reason = static_cast<gpt2_finish_reason>(found[i].finish_reason)});
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
                                    const std::optional<Tokenizer>& tokenizer) {
  const CancelFlag cancel(given.cancel);
  BeamSearchOptions options = {.beams = beams_from(given),
                               .max_new_tokens = given.max_new_tokens,
                               .sampling = sampling_of(given.sampling),
                               .stop_tokens = list_of(given.stop_tokens, "stop_tokens"),
                               .ignore_eos = given.ignore_eos != 0,
                               .hash_logits = given.hash_logits != 0,
                               .on_prompt = prompt_callback_of(given.on_prompt, given.user, cancel),
                               .on_step = on_step_of(given.on_step, given.user, cancel)};
  const auto end = tokenizer ? tokenizer->end_of_text() : std::nullopt;
  if (end && !options.ignore_eos) options.stop_tokens.push_back(*end);
  return options;
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_beam_search(const gpt2_model* model, const gpt2_tokenizer* tokenizer,
                             const gpt2_token* prompt, size_t n_prompt,
                             const gpt2_beam_options* options, gpt2_beams** out) {
  return guard_new(out, [&] {
    const gpt2_beam_options given = options_of(options);
    const gpt2::Engine engine = engine_for(model, given.engine);
    const std::optional<gpt2::Tokenizer> text = optional_tokenizer(tokenizer);
    if (text) text->require_match(engine.model().config());
    return make_beams(gpt2::beam_search(engine, span_of(prompt, n_prompt, "the prompt"),
                                        search_options_of(given, text)),
                      text);
  });
}

void gpt2_beams_free(gpt2_beams* beams) { free_result<OwnedBeams>(beams); }
