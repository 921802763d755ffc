#include "cli/generate/texts.h"

#include <chrono>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/seconds_since.h"
#include "base/text.h"
#include "cli/generate/output.h"
#include "cli/lines/records.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "gpt2/beam_search.h"
#include "gpt2/scheduler.h"
#include "requests/completion_run.h"
#include "requests/own_form.h"

namespace gpt2::cli {
namespace {

CompletionRequest request_of(const GenerateSettings& settings, const Prompt& prompt,
                             const GenerationOptions& options) {
  CompletionRequest request{.prompts = {{prompt.tokens, options.max_new_tokens}},
                            .options = options,
                            .beams = settings.beams};
  const bool searches = settings.beams.num_beams > 1;
  request.n = searches ? settings.beams.num_return_sequences : settings.writing.samples;
  request.best_of = request.n;
  return request;
}

// Combines two hashes, in this order, by a step of FNV-1a.
std::uint64_t hash_of(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  return (first ^ second) * kPrime;
}

// Standard output, to which the texts of a run are written in order. The first text that has not
// ended appears while it is written, and the others wait.
class TextsOutput {
 public:
  TextsOutput(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
              const Prompt& prompt)
      : settings_(settings), tokenizer_(tokenizer), prompt_(prompt) {}

  void set_count(std::size_t count) { count_ = count; }

  void write(std::size_t index, const CompletionPiece& piece) {
    if (settings_.output.as_json) return;
    if (tokenizer_) {
      writer(index).write(piece.text);
    } else {
      writer(index).write(*piece.token);
    }
  }

  // Ends the text. A sequence of a search has not been written before.
  void end(const CompletionRequest& request, const CompletionChoice& choice) {
    if (settings_.output.as_json) return write_stdout(json(request, choice));
    TextWriter& ending = writer(choice.index);
    if (choice.score) {
      if (tokenizer_) ending.write(choice.text);
      for (const TokenId token : choice.result.tokens) {
        if (!tokenizer_) ending.write(token);
      }
    }
    ending.end(choice.result);
    writers_.erase(choice.index);
    const auto next = writers_.find(++first_);
    if (next != writers_.end()) next->second.show();
  }

 private:
  TextWriter& writer(std::size_t index) {
    const auto [place, is_new] = writers_.try_emplace(index, settings_, prompt_, index, count_);
    if (is_new && index != first_) place->second.hold();
    return place->second;
  }

  // Returns the line that --json writes. Bytes of the prompt and of single tokens that are not
  // UTF-8 become U+FFFD, because JSON cannot represent them.
  [[nodiscard]] std::string json(const CompletionRequest& request,
                                 const CompletionChoice& choice) const {
    Json object = {{"model", settings_.model.path.string()}};
    if (tokenizer_) object["prompt"] = prompt_.text;
    object["prompt_token_ids"] = prompt_.tokens;
    add_text(object, request, tokenizer_, choice, /*with_seed=*/true);
    if (settings_.output.stats) object["stats"] = stats_json(choice.result);
    return line_of(object);
  }

  const GenerateSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const Prompt& prompt_;
  std::size_t count_ = settings_.writing.samples;
  std::size_t first_ = 0;  // the index of the text that is shown
  std::map<std::size_t, TextWriter> writers_;
};

// Shows what a run does, writes its texts and counts them.
class TextsRun {
 public:
  TextsRun(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
           const Prompt& prompt, const std::function<void()>& on_token)
      : output_(settings, tokenizer, prompt), progress_(settings), on_token_(on_token) {}

  // The events refer to this object.
  [[nodiscard]] RunEvents events(const CompletionRequest& request);

  WrittenTexts write(CompletionRun& run);

 private:
  void end(const CompletionRequest& request, const CompletionChoice& choice);

  TextsOutput output_;
  TokenProgress progress_;
  Progress reading_{"reading the prompt"};
  std::optional<Progress> searching_;
  bool has_read_ = false;
  const std::function<void()>& on_token_;
  WrittenTexts written_;
};

RunEvents TextsRun::events(const CompletionRequest& request) {
  const bool searches = request.beams.num_beams > 1;
  const std::size_t max_new_tokens = request.options.max_new_tokens;
  RunEvents events;
  events.goes_on = [] { return !interrupted(); };
  events.on_prompt = [this](std::size_t read, std::size_t total) {
    if (has_read_) return;
    reading_.part(static_cast<double>(read) / static_cast<double>(total));
  };
  const auto end_reading = [this] {
    if (!std::exchange(has_read_, true)) reading_.done();
  };
  events.on_piece = [this, end_reading](std::size_t index, const CompletionPiece& piece) {
    end_reading();
    output_.write(index, piece);
    if (!piece.token) return;
    progress_.add();
    progress_.show();
    on_token_();
  };
  events.on_beam_step = [this, end_reading, max_new_tokens](const BeamStep& step) {
    end_reading();
    if (!searching_) searching_.emplace("searching");
    searching_->part(static_cast<double>(step.new_tokens) / static_cast<double>(max_new_tokens));
    written_.tokens += step.tokens.size();
    written_.logits_hash = step.logits_hash;
  };
  if (!searches) {
    events.on_choice = [this, request](const CompletionChoice& choice) {
      if (choice.error) std::rethrow_exception(choice.error);
      written_.tokens += choice.result.tokens.size();
      written_.logits_hash = hash_of(written_.logits_hash, choice.result.logits_hash);
      end(request, choice);
    };
  }
  return events;
}

void TextsRun::end(const CompletionRequest& request, const CompletionChoice& choice) {
  reading_.done();
  progress_.done();
  output_.end(request, choice);
  ++written_.texts;
  if (choice.result.finish_reason == FinishReason::context_full) written_.is_context_full = true;
  written_.last = choice.result;
}

WrittenTexts TextsRun::write(CompletionRun& run) {
  const auto start = std::chrono::steady_clock::now();
  while (run.step()) {
  }
  searching_.reset();
  written_.seconds = seconds_since(start);
  const std::vector<CompletedPrompt>& found = run.result();
  output_.set_count(found.front().choices.size());
  for (const CompletionChoice& choice : found.front().choices) end(run.request(), choice);
  return std::move(written_);
}

}  // namespace

WrittenTexts write_texts(const Engine& engine, Session* session,
                         const std::optional<Tokenizer>& tokenizer,
                         const GenerateSettings& settings, const Prompt& prompt,
                         const GenerationOptions& options, const std::function<void()>& on_token) {
  note_interrupts();
  TextsRun texts(settings, tokenizer, prompt, on_token);
  CompletionRequest request = request_of(settings, prompt, options);
  RunEvents events = texts.events(request);
  if (session != nullptr) {
    CompletionRun run(*session, tokenizer, std::move(request), std::move(events));
    return texts.write(run);
  }
  Scheduler scheduler(engine);
  CompletionRun run(engine, scheduler, tokenizer, std::move(request), std::move(events));
  return texts.write(run);
}

}  // namespace gpt2::cli
