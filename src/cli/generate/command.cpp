#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/generate/draft.h"
#include "cli/generate/output.h"
#include "cli/generate/prompt.h"
#include "cli/generate/settings.h"
#include "cli/generate/state_file.h"
#include "cli/generate/talk.h"
#include "cli/generate/texts.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "gpt2/generate.h"

namespace gpt2::cli {
namespace {

// Returns the options of the command line. Converts a max_length, which includes the prompt, to a
// number of new tokens.
GenerationOptions make_options(const GenerateSettings& settings, std::size_t prompt_tokens,
                               const std::optional<Tokenizer>& tokenizer) {
  const Writing& writing = settings.writing;
  GenerationOptions options = writing.options;
  if (writing.max_length) {
    if (prompt_tokens >= *writing.max_length) {
      reject("the prompt has ", counted(prompt_tokens, "token"),
             ", but max_length in the model's generation config is ", *writing.max_length,
             " and includes the prompt: shorten the prompt or give --max-new-tokens");
    }
    options.max_new_tokens = *writing.max_length - prompt_tokens;
  }
  if (tokenizer) add_bad_words(options.sampling, writing.bad_words, *tokenizer);
  options.hash_logits = settings.output.stats;
  options.prompt_lookup = settings.model.looks_up();
  return options;
}

// Generates the continuation of the prompt and writes the text.
GenerationResult write_text(const GenerateSettings& settings, Session& session,
                            const std::optional<Tokenizer>& tokenizer, const Prompt& prompt,
                            GenerationOptions options, BackgroundDraft& draft) {
  Progress reading("reading the prompt");
  note_interrupts();
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    reading.part(static_cast<double>(read) / static_cast<double>(total));
    return !interrupted();
  };
  TextWriter writer(settings, tokenizer, prompt);
  TokenProgress written(settings);
  const auto write = [&](auto piece) {  // a text or a token
    reading.done();
    writer.write(piece);
    written.add();
    written.show();
    if (options.pending_draft.valid()) draft.start();
    return !interrupted();
  };
  const GenerationResult result =
      gpt2::generate(session, prompt.tokens, options, {tokenizer, write, write});
  reading.done();
  written.done();
  writer.end(result);
  return result;
}

// Reads lines and continues the session's text after each of them.
void run_talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
              Session session, const std::optional<Model>& draft) {
  BackgroundDraft background(session.model());
  std::shared_future<Model> pending;
  if (settings.model.draft == "auto" &&
      gains_from_draft(session.model(), settings.writing.options)) {
    pending = background.future();
    background.start();
  }
  const auto options_of = [&](const GenerateSettings& current) {
    GenerationOptions options = make_options(current, 0, tokenizer);
    options.draft = draft;
    options.pending_draft = pending;
    return options;
  };
  talk(settings, tokenizer, std::move(session), options_of);
}

// Continues the prompt in the session of --state or, without one, in a new session.
void run_text(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
              const Engine& engine, std::optional<Session> state,
              const std::optional<Model>& draft) {
  const Model& model = engine.model();
  const std::size_t n_positions = model.config().n_positions;
  const std::size_t before = state ? state->position() : 0;
  const Prompt prompt = read_prompt(settings, tokenizer, model.config(), before);
  auto options = make_options(settings, before + prompt.tokens.size(), tokenizer);
  if (settings.beams.num_beams > 1) {
    return write_beams(engine, tokenizer, settings, prompt, options);
  }
  options.draft = draft;
  if (settings.writing.draws_seed) {
    print_error(concat("to write this text again, give --seed ", options.sampling.seed));
  }
  if (settings.writing.samples > 1) {
    return write_samples(engine, tokenizer, settings, prompt, options);
  }
  BackgroundDraft background(model);
  if (settings.model.draft == "auto" && gains_from_draft(model, options)) {
    options.pending_draft = background.future();
  }
  const std::size_t room = prompt.tokens.size() + std::min(options.max_new_tokens, n_positions);
  Session session =
      state ? *std::move(state) : Session(engine, {.max_tokens = std::min(room, n_positions)});
  const auto result = write_text(settings, session, tokenizer, prompt, options, background);
  if (result.finish_reason == FinishReason::context_full) {
    print_error(concat("the text ends here: the context of ", n_positions, " tokens is full"));
  }
  if (settings.output.stats && !settings.output.as_json) print_stats(result, session, before);
  // A text that was cancelled before its first token leaves the file as it is.
  const bool is_text = result.finish_reason != FinishReason::cancelled || !result.tokens.empty();
  if (!settings.state.to.empty() && is_text) save_state(session, path_of(settings.state.to));
}

}  // namespace

int generate(const Arguments& arguments, void (*check)(const std::string& prompt)) {
  const GenerateSettings settings = read_generate_settings(arguments, check);
  // Throws now, before the long work, if the file cannot be written.
  if (!settings.state.to.empty()) check_state_file(path_of(settings.state.to));
  Progress loading("loading " + settings.model.path.string());
  const auto [model, draft] = load_models(settings.model);
  std::optional<Tokenizer> tokenizer;
  if (!settings.writing.tokens) {
    tokenizer = load_tokenizer(settings.model.path, /*takes_tokens=*/!settings.talks);
  }
  loading.done();

  check_limits(settings.writing, model.config());
  const Engine engine(model, settings.model.engine);
  std::optional<Session> state;
  if (!settings.state.from.empty()) state = load_session(engine, path_of(settings.state.from));
  if (settings.talks) {
    run_talk(settings, tokenizer, state ? *std::move(state) : Session(engine), draft);
  } else {
    run_text(settings, tokenizer, engine, std::move(state), draft);
  }
  return 0;
}

}  // namespace gpt2::cli
