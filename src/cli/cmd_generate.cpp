#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cli/beam_texts.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/draft_model.h"
#include "cli/generate_settings.h"
#include "cli/generation_stats.h"
#include "cli/model_limits.h"
#include "cli/prompt.h"
#include "cli/samples.h"
#include "cli/talk.h"
#include "cli/text_writer.h"
#include "gpt2/generate.h"
#include "gpt2/model_files.h"

namespace gpt2::cli {
namespace {

// Returns the options of the command line. Converts a max_length, which includes the prompt, to a
// number of new tokens.
GenerationOptions make_options(const GenerateSettings& settings, std::size_t prompt_tokens,
                               const std::optional<Tokenizer>& tokenizer) {
  GenerationOptions options = settings.generation;
  if (settings.max_length) {
    if (prompt_tokens >= *settings.max_length) {
      refuse(
          format("the prompt has %s, but max_length in the model's generation config is %zu "
                 "and includes the prompt: shorten the prompt or give --max-new-tokens",
                 counted(prompt_tokens, "token").c_str(), *settings.max_length));
    }
    options.max_new_tokens = *settings.max_length - prompt_tokens;
  }
  if (tokenizer) add_bad_words(options.sampling, settings.bad_words, *tokenizer);
  options.hash_logits = settings.stats;
  return options;
}

// Generates the continuation of the prompt and writes the text.
GenerationResult write_text(Session& session, const std::optional<Tokenizer>& tokenizer,
                            const Prompt& prompt, GenerationOptions options, TextWriter writer,
                            BackgroundDraft& draft) {
  Progress reading("reading the prompt");
  note_interrupts();
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    reading.part(static_cast<double>(read) / static_cast<double>(total));
    return !interrupted();
  };
  const auto write = [&](auto piece) {  // a text or a token
    reading.done();
    writer.write(piece);
    if (options.pending_draft.valid()) draft.start();
    return !interrupted();
  };
  const GenerationResult result =
      tokenizer ? gpt2::generate(session, *tokenizer, prompt.tokens, options, write)
                : gpt2::generate(session, prompt.tokens, options, write);
  reading.done();
  writer.end(result);
  return result;
}

// Reads lines and continues the session's text after each of them.
void run_talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
              Session session, const std::optional<Model>& draft) {
  BackgroundDraft background(session.model());
  std::shared_future<Model> pending;
  if (settings.draft == "auto" && gains_from_draft(session.model(), settings.generation)) {
    pending = background.future();
    background.start();
  }
  const auto options_of = [&](const GenerateSettings& current) {
    GenerationOptions options = make_options(current, 0, tokenizer);
    options.draft = draft;
    options.pending_draft = pending;
    options.prompt_lookup = settings.draft != "off";
    return options;
  };
  talk(settings, tokenizer, std::move(session), options_of);
}

int run(const GenerateSettings& settings) {
  require_writable(settings.state);
  Progress loading("loading " + settings.model.string());
  const auto [model, draft] = load_models(settings);
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) tokenizer = load_tokenizer(settings.model);
  loading.done();

  const Config& config = model.config();
  check_limits(settings, config);
  const Engine engine(model, {.threads = settings.threads, .kv_type = settings.kv_type});
  std::optional<Session> state = load_state(settings.state, engine);
  if (settings.talks) {
    run_talk(settings, tokenizer, state ? *std::move(state) : Session(engine), draft);
    return 0;
  }
  const std::size_t before = state ? state->position() : 0;
  const Prompt prompt = read_prompt(settings, tokenizer, config, before);
  auto options = make_options(settings, before + prompt.tokens.size(), tokenizer);
  if (settings.beams.num_beams > 1) {
    write_beams(engine, tokenizer, prompt, settings, options);
    return 0;
  }
  options.draft = draft;
  options.prompt_lookup = settings.draft != "off";
  BackgroundDraft background(model);
  if (settings.draft == "auto" && gains_from_draft(model, options) && settings.samples == 1) {
    options.pending_draft = background.future();
  }
  const std::size_t room =
      prompt.tokens.size() + std::min(options.max_new_tokens, config.n_positions);
  if (settings.draws_seed) {
    print_error("to write this text again, give --seed " + std::to_string(options.sampling.seed));
  }
  if (settings.samples > 1) {
    write_samples(engine, tokenizer, settings, prompt, options);
    return 0;
  }
  Session session = state ? *std::move(state)
                          : Session(engine, {.max_tokens = std::min(room, config.n_positions)});
  const auto result = write_text(session, tokenizer, prompt, options,
                                 TextWriter(settings, tokenizer, prompt), background);
  if (result.finish_reason == FinishReason::context_full) {
    print_error(
        format("the text ends here: the context of %zu tokens is full", config.n_positions));
  }
  if (settings.stats && !settings.as_json) print_stats(result, session, before);
  save_state(settings.state, session, result);
  return 0;
}

}  // namespace

int generate(Arguments arguments, void (*check)(const std::string& prompt)) {
  return run(read_generate_settings(std::move(arguments), check));
}

}  // namespace gpt2::cli
