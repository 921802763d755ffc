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
  const bool prints_stats = settings.output.stats && !settings.output.as_json;
  auto options = make_options(settings, before + prompt.tokens.size(), tokenizer);
  options.draft = draft;
  const bool searches = settings.beams.num_beams > 1;
  if (settings.writing.draws_seed && !searches) {
    print_error(concat("to write this text again, give --seed ", options.sampling.seed));
  }
  if (searches || settings.writing.samples > 1) {
    const WrittenTexts texts =
        write_texts(engine, nullptr, tokenizer, settings, prompt, options, [] {});
    const std::size_t count = searches ? settings.beams.num_beams : texts.texts;
    if (prints_stats) print_stats(searches ? "beams" : "samples", count, texts);
    if (searches && texts.is_context_full) {
      print_error(concat("a text ends where the context of ", n_positions, " tokens is full"));
    }
    return;
  }
  BackgroundDraft background(model);
  if (settings.model.draft == "auto" && gains_from_draft(model, options)) {
    options.pending_draft = background.future();
  }
  const std::size_t room = prompt.tokens.size() + std::min(options.max_new_tokens, n_positions);
  Session session =
      state ? *std::move(state) : Session(engine, {.max_tokens = std::min(room, n_positions)});
  const GenerationResult result =
      write_texts(engine, &session, tokenizer, settings, prompt, options, [&] {
        if (options.pending_draft.valid()) background.start();
      }).last;
  if (result.finish_reason == FinishReason::context_full) {
    print_error(concat("the text ends here: the context of ", n_positions, " tokens is full"));
  }
  if (prints_stats) print_stats(result, session, before);
  // A text that was cancelled before its first token leaves the file as it is.
  const bool is_text = result.finish_reason != FinishReason::cancelled || !result.tokens.empty();
  if (!settings.state.to.empty() && is_text) save_state(session, path_of(settings.state.to));
}

}  // namespace

int generate(const Arguments& arguments) {
  const GenerateSettings settings = read_generate_settings(arguments);
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
