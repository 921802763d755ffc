#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/fail.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/generate/settings.h"
#include "cli/generate/talk.h"
#include "cli/generate/texts.h"
#include "cli/lines.h"
#include "cli/terminal/console.h"
#include "gpt2/generate.h"
#include "gpt2/runtime.h"
#include "requests/read/tokens.h"

namespace gpt2::cli {
namespace {

std::string read_text(const GenerateSettings& settings) {
  if (settings.prompt) return *settings.prompt;
  const std::string& file = settings.prompt_file;
  if (file.empty() && is_terminal(kStdin)) return "";
  return read_prompt_input(file.empty() ? "-" : file);
}

// Returns the prompt that the arguments give, in full or as a file; if they give none, reads
// standard input, unless that is a terminal. `before` is the number of tokens in the session of
// --state, which the prompt follows.
Prompt read_prompt(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                   const Config& config, std::size_t before) {
  std::string text = read_text(settings);
  auto tokens = tokenizer ? encode(*tokenizer, text, {.add_special_tokens = before == 0})
                          : parse_tokens(text, config.vocab_size);
  if (!tokenizer) text = join(tokens);
  // The session refuses a prompt for which it has no room.
  if (before != 0) return {std::move(tokens), std::move(text)};
  if (tokens.empty()) tokens = {first_token(tokenizer, config)};
  const std::size_t size = tokens.size();
  const Writing& writing = settings.writing;
  const std::size_t removed = fit_context(tokens, writing.truncate, writing.options.max_new_tokens,
                                          config.n_positions, "--truncate");
  if (removed != 0) {
    print_error(concat("the prompt has ", size, " tokens, but the model takes at most ",
                       config.n_positions, ": the first ", removed, " are left out"));
  }
  return {std::move(tokens), std::move(text)};
}

// Returns whether --draft auto makes an int4 draft for this text. It does if reading the weights
// takes most of the time, which is the case if the caches hold only a small part of them; if the
// text is long enough to save more time than quantizing takes; and if there is enough memory.
bool gains_from_draft(const Model& model, const GenerationOptions& options) {
  constexpr std::size_t kCaches = std::size_t{64} << 20;  // the size of a large cache
  constexpr std::size_t kLongText = 128;
  const std::size_t bytes = model.bytes_per_token();
  const std::size_t of_draft = draft_bytes(model);
  const bool is_large = bytes > kCaches && bytes > of_draft;
  return is_large && options.max_new_tokens >= kLongText && of_draft < available_memory() / 4;
}

// Makes an int4 copy of a model on a separate thread, so that the text need not wait for it.
class BackgroundDraft {
 public:
  explicit BackgroundDraft(const Model& model)
      : work_([model] { return model.to(WeightType::int4); }) {}

  // Waits for the thread if it was started.
  ~BackgroundDraft() {
    if (thread_.joinable()) thread_.join();
  }

  // For GenerationOptions::pending_draft.
  [[nodiscard]] std::shared_future<Model> future() { return work_.get_future(); }

  // Starts the thread. Later calls do nothing.
  void start() {
    if (!thread_.joinable()) thread_ = std::thread([this] { work_(); });
  }

 private:
  std::packaged_task<Model()> work_;
  std::thread thread_;
};

// Returns the options of the command line. Converts a max_length, which includes the prompt, to a
// number of new tokens.
GenerationOptions make_options(const GenerateSettings& settings, std::size_t prompt_tokens,
                               const std::optional<Tokenizer>& tokenizer) {
  const Writing& writing = settings.writing;
  GenerationOptions options = writing.options;
  if (writing.max_length) {
    options.max_new_tokens = new_tokens(*writing.max_length, prompt_tokens);
  }
  if (tokenizer) add_bad_words(options.sampling, writing.bad_words, *tokenizer);
  options.hash_logits = settings.stats;
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
  const bool has_line = settings.prompt || !settings.prompt_file.empty();
  talk(settings, tokenizer, std::move(session), options_of,
       has_line ? std::optional(read_text(settings)) : std::nullopt);
}

// Continues the prompt in the session of --state or, without one, in a new session.
void run_text(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
              const Engine& engine, std::optional<Session> state,
              const std::optional<Model>& draft) {
  const Model& model = engine.model();
  const std::size_t n_positions = model.config().n_positions;
  const std::size_t before = state ? state->position() : 0;
  const Prompt prompt = read_prompt(settings, tokenizer, model.config(), before);
  const bool prints_stats = settings.stats && !settings.as_json;
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
  if (!settings.save_state.empty() && is_text) save_state(session, path_of(settings.save_state));
}

}  // namespace

int generate(const Arguments& arguments) {
  const GenerateSettings settings = read_generate_settings(arguments);
  // Throws now, before the long work, if the file cannot be written.
  if (!settings.save_state.empty()) check_state_file(path_of(settings.save_state));
  const auto [model, draft] = load_models(settings.model);
  std::optional<Tokenizer> tokenizer;
  if (!settings.writing.tokens) {
    tokenizer = load_tokenizer(settings.model, /*takes_tokens=*/!settings.talks);
  }

  check_limits(settings.writing, model.config());
  const Engine engine(model, settings.model.engine);
  std::optional<Session> state;
  if (!settings.state.empty()) state = load_session(engine, path_of(settings.state));
  if (settings.talks) {
    run_talk(settings, tokenizer, state ? *std::move(state) : Session(engine), draft);
  } else {
    run_text(settings, tokenizer, engine, std::move(state), draft);
  }
  return 0;
}

}  // namespace gpt2::cli
