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
#include "cli/generate/generate.h"
#include "cli/lines.h"
#include "cli/options/request_options.h"
#include "cli/terminal/console.h"
#include "gpt2/generate.h"
#include "gpt2/generation_config.h"
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

// Reads the request with this prompt, which is token ids without a tokenizer, and says what has
// happened to it.
CompletionRequest read_request(const GenerateSettings& settings, const std::string& prompt,
                               const std::optional<Tokenizer>& tokenizer, const Engine& engine,
                               const std::optional<Session>& session) {
  const Config& config = engine.model().config();
  RequestContext context = {tokenizer, config, settings.defaults};
  nlohmann::json body = settings.request;
  body["prompt"] = text_or_ids(prompt, context);
  if (body["prompt"].empty()) body["prompt"] = nullptr;  // a list without ids
  context.max_choices = GenerationConfig::kMaxSamples;
  if (settings.has_session()) context.session = {0, config.n_positions};
  if (session) context.session = {session->position(), session->capacity()};
  CompletionRequest request =
      read_arguments(settings.request, [&] { return read_generate_request(body, context); });
  note_lost_bytes(request.lost_bytes, prompt.size());
  if (request.truncated != 0) {
    print_error(concat("the prompt has ", request.prompts[0].tokens.size() + request.truncated,
                       " tokens, but the model takes at most ", config.n_positions, ": the first ",
                       request.truncated, " are left out"));
  }
  if (request.draws_seed && !request.searches()) {
    print_error(concat("to write this text again, give --seed ", request.options.sampling.seed));
  }
  return request;
}

constexpr std::size_t kLongText = 128;  // tokens

// Returns whether --draft auto makes an int4 draft for this text. It does if reading the weights
// takes most of the time, which is the case if the caches hold only a small part of them; if the
// text is long enough to save more time than quantizing takes; and if there is enough memory.
bool gains_from_draft(const Model& model, std::size_t max_new_tokens = kLongText) {
  constexpr std::size_t kCaches = std::size_t{64} << 20;  // the size of a large cache
  const std::size_t bytes = model.bytes_per_token();
  const std::size_t of_draft = draft_bytes(model);
  const bool is_large = bytes > kCaches && bytes > of_draft;
  return is_large && max_new_tokens >= kLongText && of_draft < available_memory() / 4;
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

// Continues the prompt: in the session of --state, or else, if it is one text, in a new session.
void write(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
           const Engine& engine, std::optional<Session> session, CompletionRequest request,
           const std::string& prompt) {
  const Model& model = engine.model();
  const std::size_t n_positions = model.config().n_positions;
  const std::size_t max_new_tokens = request.prompts[0].max_new_tokens;
  const bool is_one = !request.searches() && request.n == 1;
  BackgroundDraft background(model);
  const bool has_background =
      is_one && settings.model.draft == "auto" && gains_from_draft(model, max_new_tokens);
  if (has_background) request.options.pending_draft = background.future();
  if (is_one && !session) {
    const std::size_t room =
        request.prompts[0].tokens.size() + std::min(max_new_tokens, n_positions);
    session.emplace(engine, SessionOptions{.max_tokens = std::min(room, n_positions)});
  }
  const auto start_draft = [&] {
    if (has_background) background.start();
  };
  const GenerationResult last = write_texts(engine, session ? &*session : nullptr, tokenizer,
                                            settings, std::move(request), prompt, start_draft);
  // A text that was cancelled before its first token leaves the file as it is.
  const bool is_text = last.finish_reason != FinishReason::cancelled || !last.tokens.empty();
  if (!settings.save_state.empty() && is_text) save_state(*session, path_of(settings.save_state));
}

}  // namespace

int generate(const Arguments& arguments) {
  const GenerateSettings settings = read_generate_settings(arguments);
  // Throws now, before the long work, if the file cannot be written.
  if (!settings.save_state.empty()) check_state_file(path_of(settings.save_state));
  const auto [model, draft] = load_models(settings.model);
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) {
    tokenizer = load_tokenizer(settings.model, /*takes_tokens=*/!settings.talks);
  }
  const Engine engine(model, settings.model.engine);
  std::optional<Session> state;
  if (!settings.state.empty()) state = load_session(engine, path_of(settings.state));
  if (settings.talks) {
    BackgroundDraft background(model);
    std::shared_future<Model> pending;
    if (settings.model.draft == "auto" && gains_from_draft(model)) {
      pending = background.future();
      background.start();
    }
    const bool has_line = settings.prompt || !settings.prompt_file.empty();
    talk(settings, *tokenizer, state ? *std::move(state) : Session(engine), {draft, pending},
         has_line ? std::optional(read_text(settings)) : std::nullopt);
    return 0;
  }
  const std::string prompt = read_text(settings);
  CompletionRequest request = read_request(settings, prompt, tokenizer, engine, state);
  if (draft) read_arguments({{"draft", true}}, [&, &model = draft] { request.set_draft(*model); });
  const std::string shown =
      tokenizer ? prompt : join(parse_tokens(prompt, model.config().vocab_size));
  write(settings, tokenizer, engine, std::move(state), std::move(request), shown);
  return 0;
}

}  // namespace gpt2::cli
