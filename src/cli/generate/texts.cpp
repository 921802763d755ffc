#include "cli/generate/generate.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/seconds_since.h"
#include "base/share.h"
#include "base/text.h"
#include "cli/lines.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/beam_search.h"
#include "gpt2/scheduler.h"
#include "requests/answer/own_form.h"
#include "requests/run/completion_run.h"

namespace gpt2::cli {
namespace {

// What was written.
struct WrittenTexts {
  std::size_t texts = 0;
  std::size_t tokens = 0;         // the new tokens of all texts or, of a search, of all beams
  double seconds = 0.0;           // the time for them and the prompt
  std::uint64_t logits_hash = 0;  // a hash for all texts in order; 0: there were no logits
  GenerationResult last = {.finish_reason = FinishReason::cancelled, .tokens = {}};
};

// Combines two hashes, in this order, by a step of FNV-1a.
std::uint64_t hash_of(std::uint64_t first, std::uint64_t second) {
  return (first ^ second) * kFnvPrime;
}

// Writes the texts of a run to standard output in order, shows what the run does, and counts. A
// plain text that is the only one appears while it is written, and others when they have ended.
class TextsRun {
 public:
  // Keeps references, except to the request. Writes nothing yet, so that nothing is written if the
  // model refuses the prompt.
  TextsRun(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
           CompletionRequest request, const std::string& prompt,
           const std::function<void()>& on_token)
      : settings_(settings),
        tokenizer_(tokenizer),
        request_(std::move(request)),
        prompt_(prompt),
        count_(request_.n),
        is_streamed_(request_.n == 1 && !request_.searches() && !settings.as_json),
        on_token_(on_token) {}

  WrittenTexts write(const Engine& engine, Session* session);

 private:
  // The events refer to this object.
  [[nodiscard]] RunEvents events();

  // Returns the line that shows what the run does.
  Progress& progress(const char* what) {
    if (!progress_) progress_.emplace(what);
    return *progress_;
  }

  void end_reading() {
    if (!std::exchange(has_read_, true)) progress_.reset();
  }

  void begin();
  void write(std::string_view piece);
  void write(TokenId token) {
    write((std::exchange(is_empty_, false) ? "" : " ") + std::to_string(token));
  }
  void end(const CompletionChoice& choice);
  void end_plain(const CompletionChoice& choice);
  [[nodiscard]] std::string json(const CompletionChoice& choice) const;

  const GenerateSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const CompletionRequest request_;
  const std::string& prompt_;
  std::size_t count_;  // of the texts
  bool is_streamed_;
  const std::function<void()>& on_token_;
  std::string waiting_;  // the beginning of a text of which nothing has been written
  char last_ = '\0';     // the last character that was written
  bool is_empty_ = true;
  std::optional<Progress> progress_;
  bool has_read_ = false;
  std::size_t tokens_ = 0;
  WrittenTexts written_;
};

// Begins a plain text. If there are several, a line such as "--- 1 of 5" precedes each. Token ids
// are for programs: each text is a line of ids, without lines between them.
void TextsRun::begin() {
  waiting_ = settings_.no_echo ? "" : prompt_;
  is_empty_ = waiting_.empty();
  last_ = '\0';
  if (settings_.tokens || count_ == 1) return;
  waiting_ = concat("--- ", written_.texts + 1, " of ", count_, "\n", waiting_);
}

void TextsRun::write(std::string_view piece) {
  waiting_ += piece;
  if (!waiting_.empty()) last_ = waiting_.back();
  write_stdout(std::exchange(waiting_, ""));
}

WrittenTexts TextsRun::write(const Engine& engine, Session* session) {
  const auto start = std::chrono::steady_clock::now();
  Scheduler scheduler(engine);
  CompletionRun run(engine, scheduler, tokenizer_, request_, events(), nullptr, session);
  if (is_streamed_) begin();
  while (run.step()) {
  }
  progress_.reset();
  written_.seconds = seconds_since(start);
  const std::vector<CompletionChoice>& found = run.result().front().choices;
  count_ = found.size();
  for (const CompletionChoice& choice : found) end(choice);
  return std::move(written_);
}

RunEvents TextsRun::events() {
  RunEvents events;
  events.goes_on = [] { return !interrupted(); };
  events.on_prompt = [this](std::size_t read, std::size_t total) {
    // Reading a line of a talk takes no time.
    if (has_read_ || settings_.talks) return;
    progress("reading the prompt").part(share_of(read, total));
  };
  events.on_piece = [this](std::size_t, const CompletionPiece& piece) {
    end_reading();
    if (is_streamed_ && tokenizer_) write(piece.text);
    if (is_streamed_ && !tokenizer_) write(*piece.token);
    if (!piece.token) return true;
    if (!is_streamed_) progress("writing").show(counted(++tokens_, "token"));
    on_token_();
    return true;
  };
  events.on_beam_step = [this](const BeamStep& step) {
    end_reading();
    progress("searching").part(share_of(step.new_tokens, request_.prompts[0].max_new_tokens));
    written_.tokens += step.tokens.size();
    written_.logits_hash = step.logits_hash;
  };
  if (!request_.searches()) {
    events.on_choice = [this](const CompletionChoice& choice) {
      if (choice.error) std::rethrow_exception(choice.error);
      written_.tokens += choice.result.tokens.size();
      written_.logits_hash = hash_of(written_.logits_hash, choice.result.logits_hash);
      end(choice);
    };
  }
  return events;
}

void TextsRun::end(const CompletionChoice& choice) {
  progress_.reset();
  if (settings_.as_json) {
    write_stdout(json(choice));
  } else {
    end_plain(choice);
  }
  ++written_.texts;
  written_.last = choice.result;
}

// Ends a plain text. A text that was cancelled before its first token stays unwritten, because the
// prompt alone would look like a text. It stays unwritten, too, if --save-state with --no-echo and
// no new tokens asks for a state alone.
void TextsRun::end_plain(const CompletionChoice& choice) {
  const GenerationResult& result = choice.result;
  if (result.finish_reason == FinishReason::cancelled && result.tokens.empty()) return;
  if (!is_streamed_) begin();
  write(tokenizer_ && !is_streamed_ ? choice.text : "");
  for (const TokenId token : result.tokens) {
    if (!tokenizer_ && !is_streamed_) write(token);
  }
  const bool only_saves = settings_.no_echo && !settings_.save_state.empty() &&
                          result.tokens.empty() && result.finish_reason == FinishReason::length;
  if (!settings_.no_newline && !only_saves && last_ != '\n') write_stdout("\n");
}

// Returns the line that --json writes. Bytes of the prompt and of single tokens that are not UTF-8
// become U+FFFD, because JSON cannot represent them.
std::string TextsRun::json(const CompletionChoice& choice) const {
  Json object = {{"model", settings_.model.path.string()}};
  if (tokenizer_) object.add("prompt", prompt_);
  object.add("prompt_token_ids", request_.prompts[0].tokens);
  add_text(object, request_, tokenizer_, choice, /*with_seed=*/true);
  if (settings_.stats) object.add("stats", stats_json(choice.result));
  return line_of(object);
}

// Returns "3 tokens" and, if any pass was timed, the time and the speed.
std::string speed(std::size_t tokens, std::size_t passes, double seconds) {
  const std::string count = counted(tokens, "token");
  if (passes == 0 || seconds <= 0.0) return count;
  return count + format(", %.3f s, %.1f tokens/s", seconds, static_cast<double>(passes) / seconds);
}

// The hash is 0 if there were no logits to hash.
std::string hash_line(std::uint64_t hash) {
  return hash == 0 ? "" : "logits      " + hash_text(hash) + "\n";
}

// Returns the lines of --stats. The session had `before` tokens before the text. The first
// generated token needs no pass of its own, because the pass over the prompt already returns its
// logits.
std::string stats_of(const GenerationResult& result, const Session& session, std::size_t before) {
  const std::size_t reached = session.position() - session.waiting() + result.dropped_tokens;
  const std::size_t computed = std::max(reached, before) - before;
  const std::size_t read = std::min(computed, result.prompt_tokens);
  const std::size_t decoded = computed - read;
  std::string text = "prompt      " + speed(read, read, result.prompt_seconds) + "\ngeneration  " +
                     speed(result.tokens.size(), decoded, result.generation_seconds);
  if (result.drafted_tokens != 0) {
    text += "\ndrafts      " + counted(result.drafted_tokens, "token") +
            format(", %zu accepted (%.0f %%)", result.accepted_tokens,
                   100.0 * static_cast<double>(result.accepted_tokens) /
                       static_cast<double>(result.drafted_tokens));
  } else if (decoded != 0) {
    const std::size_t bytes = decoded * session.model().bytes_per_token();
    text += format(", %.2f GB/s", 1e-9 * static_cast<double>(bytes) / result.generation_seconds);
  }
  return text + concat("\nfinish      ", name_of(result.finish_reason), "\n") +
         hash_line(result.logits_hash);
}

// The same for several texts, which have this name, such as "samples".
std::string stats_of(const char* name, std::size_t texts, const WrittenTexts& written) {
  return format("%-11s %zu\ngeneration  ", name, texts) +
         speed(written.tokens, written.tokens, written.seconds) + '\n' +
         hash_line(written.logits_hash);
}

}  // namespace

GenerationResult write_texts(const Engine& engine, Session* session,
                             const std::optional<Tokenizer>& tokenizer,
                             const GenerateSettings& settings, CompletionRequest request,
                             const std::string& prompt, const std::function<void()>& on_token) {
  note_interrupts();
  const std::size_t before = session != nullptr ? session->position() : 0;
  const std::size_t beams = request.beams.num_beams;
  WrittenTexts written =
      TextsRun(settings, tokenizer, std::move(request), prompt, on_token).write(engine, session);
  const bool is_full = written.last.finish_reason == FinishReason::context_full;
  if (is_full && (session != nullptr || beams > 1)) {
    print_error(concat("the text ends here: the context of ", engine.model().config().n_positions,
                       " tokens is full"));
  }
  if (settings.stats && !settings.as_json) {
    write_stderr(session != nullptr ? stats_of(written.last, *session, before)
                 : beams > 1        ? stats_of("beams", beams, written)
                                    : stats_of("samples", written.texts, written));
  }
  return std::move(written.last);
}

void check_state_file(const std::filesystem::path& file) {
  require_replaceable(file, "the state of a session", is_session_file);
}

void save_state(const Session& session, const std::filesystem::path& file) {
  check_state_file(file);
  save_session(session, file);
}

}  // namespace gpt2::cli
