#include "requests/run/completion_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/seconds_since.h"

namespace gpt2 {

// What is new of a text of a stream and is not in a part of it yet.
struct CompletionRun::Unsent {
  std::string text = {};
  std::vector<TokenId> tokens = {};
  std::vector<TokenLogprob> scores = {};
  bool ends = false;                        // whether the last of these tokens ended the text
  std::optional<FinishReason> reason = {};  // until it is
  std::size_t length = 0;                   // in tokens, of a text that has ended
};

// What a run shares with the functions of its texts, which may destroy it.
struct CompletionRun::Shared {
  bool goes_on() {
    if (!is_cancelled && events.goes_on && !events.goes_on()) is_cancelled = true;
    return !is_cancelled;
  }

  void note_piece(std::size_t index, const CompletionPiece& piece) {
    if (events.on_piece && (piece.token || !piece.text.empty()) && !events.on_piece(index, piece)) {
      is_cancelled = true;
    }
    if (unsent.empty()) return;
    Unsent& of_text = unsent[index];
    of_text.text += piece.text;
    if (piece.token) of_text.tokens.push_back(*piece.token);
    if (piece.score != nullptr) of_text.scores.push_back(*piece.score);
  }

  const RunEvents events;
  std::vector<Unsent> unsent;  // of each text, if the request is for a stream
  std::atomic<bool> is_cancelled = false;
};

// A text that is being written, or that has ended and waits for those before it.
struct CompletionRun::Pending {
  // What has been written of it.
  struct Written {
    bool has_begun = false;
    std::string text = {};
    CompletionPiece piece = {};  // the next one, until its text is known
  };

  std::size_t index;
  std::shared_ptr<Written> written = std::make_shared<Written>();
  std::optional<Text> text = {};  // none if the scheduler has refused it
  std::optional<CompletionChoice> ended = {};
};

CompletionRun::CompletionRun(const Engine& engine, Scheduler& scheduler,
                             std::optional<Tokenizer> tokenizer, CompletionRequest request,
                             RunEvents events, std::unique_ptr<AnswerForm> form, Session* session)
    : request_(std::move(request)),
      engine_(engine),
      scheduler_(scheduler),
      tokenizer_(std::move(tokenizer)),
      form_(std::move(form)),
      shared_(new Shared{.events = std::move(events),
                         .unsent = std::vector<Unsent>(request_.stream ? count() : 0)}),
      next_(request_.first) {
  for (const CompletionPrompt& prompt : request_.prompts) prompts_.push_back({prompt, {}, {}});
  if (session == nullptr) return;
  if (count() != 1 || has_own_passes()) {
    reject("a session has one text: leave out \"n\", \"best_of\" and \"num_beams\"");
  }
  is_computed_ = true;
  Pending& only = texts_.emplace_back(Pending{.index = next_++});
  only.written->has_begun = true;
  only.text =
      scheduler.submit(*session, request_.prompts[0].tokens, options_of(only), target_of(only));
}

CompletionRun::~CompletionRun() { cancel(); }

void CompletionRun::cancel() noexcept { shared_->is_cancelled = true; }

TextTarget CompletionRun::target_of(const Pending& of) const {
  const auto give = [index = of.index, shared = shared_,
                     written = of.written](std::string_view added) {
    written->text += added;
    CompletionPiece piece = std::exchange(written->piece, {});
    piece.text = added;
    shared->note_piece(index, piece);
    return shared->goes_on();
  };
  const auto take_token = [written = of.written](TokenId token) {
    written->piece.token = token;
    return true;
  };
  TextTarget target(tokenizer_, give, [give, take_token](TokenId token) {
    take_token(token);
    return give("");
  });
  target.on_token_of_text = take_token;
  target.on_logprob = [written = of.written](TokenId, const TokenLogprob& score) {
    written->piece.score = &score;
  };
  return target;
}

// The first text of a prompt scores it.
GenerationOptions CompletionRun::options_of(const Pending& of) {
  GenerationOptions options = request_.options;
  options.max_new_tokens = request_.prompts[of.index / request_.best_of].max_new_tokens;
  options.sampling.sequence += of.index;
  options.on_prompt = [shared = shared_, written = of.written](std::size_t read,
                                                               std::size_t total) {
    written->has_begun = true;
    if (shared->events.on_prompt) shared->events.on_prompt(read, total);
    return shared->goes_on();
  };
  if (scores_prompts() && of.index % request_.best_of == 0) {
    options.on_prompt_logprobs = [prompt = &prompt_of(of.index)](auto scores) {
      prompt->logprobs = std::move(scores);
    };
  }
  return options;
}

void CompletionRun::compute(const std::function<void()>& between) {
  if (std::exchange(is_computed_, true) || !searches()) return;
  try {
    for (CompletedPrompt& prompt : prompts_) {
      search(prompt, between);
      if (!shared_->goes_on()) return;
    }
  } catch (...) {
    shared_->is_cancelled = true;
    throw;
  }
}

void CompletionRun::search(CompletedPrompt& prompt, const std::function<void()>& between) {
  BeamSearchOptions options = {.beams = request_.beams,
                               .max_new_tokens = prompt.prompt.max_new_tokens,
                               .sampling = request_.options.sampling,
                               .stop_tokens = request_.options.stop_tokens,
                               .ignore_eos = request_.options.ignore_eos,
                               .tokenizer = tokenizer_,
                               .skip_special_tokens = request_.options.skip_special_tokens,
                               .hash_logits = request_.options.hash_logits};
  const RunEvents& events = shared_->events;
  const auto goes_on = [&] {
    if (between) between();
    return shared_->goes_on();
  };
  GenerationResult common = {.finish_reason = FinishReason::cancelled,
                             .tokens = {},
                             .prompt_tokens = prompt.prompt.tokens.size()};
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    if (events.on_prompt) events.on_prompt(read, total);
    return goes_on();
  };
  options.on_step = [&](const BeamStep& step) {
    common.logits_hash = step.logits_hash;
    if (events.on_beam_step) events.on_beam_step(step);
    return goes_on();
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<BeamSequence> found = beam_search(engine_, prompt.prompt.tokens, options);
  common.generation_seconds = seconds_since(start);
  // The search returns nothing if it was cancelled before its first step.
  if (found.empty()) found.push_back({{}, 0.0, FinishReason::cancelled});
  for (BeamSequence& sequence : found) {
    CompletionChoice& choice = prompt.choices.emplace_back(
        CompletionChoice{std::move(sequence.text), common, sequence.score});
    choice.result.finish_reason = sequence.finish_reason;
    choice.result.tokens = std::move(sequence.tokens);
    choice.result.end_token = sequence.end_token;
    choice.index = prompt.choices.size() - 1;
  }
}

// At least one text is submitted, so that a run that was cancelled at once has a text, too.
bool CompletionRun::may_submit() const {
  if (searches() || next_ == count()) return false;
  return !shared_->is_cancelled || next_ == request_.first;
}

void CompletionRun::submit_next() {
  Pending& next = texts_.emplace_back(Pending{.index = next_++});
  try {
    next.text =
        scheduler_.submit(prompt_of(next.index).prompt.tokens, options_of(next), target_of(next));
  } catch (const Error&) {
    fail(next);
  }
}

// Takes the result of a text if it has ended.
void CompletionRun::take(Pending& of) {
  if (of.ended || !of.text->finished()) return;
  try {
    GenerationResult result = of.text->take_result();
    if (request_.stream) {
      Unsent& unsent = shared_->unsent[of.index];
      unsent.reason = result.finish_reason;
      unsent.length = drawn_tokens(result).size();
      unsent.ends = result.end_token && request_.with_logprobs;
      if (unsent.ends) {
        unsent.tokens.push_back(*result.end_token);
        unsent.scores.push_back(result.logprobs.back());
      }
    }
    of.ended = {
        .text = std::move(of.written->text), .result = std::move(result), .index = of.index};
  } catch (...) {
    fail(of);
  }
}

// Ends a text with the exception that is being handled.
void CompletionRun::fail(Pending& of) {
  of.ended = {.error = std::current_exception(), .index = of.index};
  if (shared_->events.on_choice) return;
  if (!error_) error_ = of.ended->error;
  cancel();
}

// Gives the first text, which has ended, to the door or to its prompt.
void CompletionRun::take_first() {
  CompletionChoice ended = std::move(*texts_.front().ended);
  texts_.pop_front();
  if (shared_->events.on_choice) return shared_->events.on_choice(std::move(ended));
  prompt_of(ended.index).choices.push_back(std::move(ended));
}

// A text that has begun asks the door whether it goes on. For those that wait, the run asks.
bool CompletionRun::advance() {
  compute({});
  const bool waits = std::ranges::any_of(
      texts_, [](const Pending& one) { return !one.ended && !one.written->has_begun; });
  if (shared_->is_cancelled || (waits && !shared_->goes_on())) {
    for (Pending& one : texts_) {
      if (one.text) one.text->cancel();
    }
  }
  for (Pending& one : texts_) take(one);
  while (!texts_.empty() && texts_.front().ended) take_first();
  while (may_submit() && texts_.size() < kMaxTexts) submit_next();
  return !finished();
}

bool CompletionRun::step() {
  if (!advance()) return false;
  scheduler_.step();
  return advance();
}

bool CompletionRun::finished() const noexcept {
  return is_computed_ && texts_.empty() && !may_submit();
}

const std::vector<CompletedPrompt>& CompletionRun::result() {
  if (error_) std::rethrow_exception(error_);
  if (std::exchange(has_best_, true)) return prompts_;
  for (CompletedPrompt& prompt : prompts_) keep_best(prompt, request_.n);
  return prompts_;
}

Json CompletionRun::json() { return form_->whole(request_, result()); }

RunTokens CompletionRun::tokens() {
  RunTokens tokens;
  for (const CompletedPrompt& prompt : result()) {
    tokens.prompt += prompt.prompt.tokens.size();
    tokens.completion += prompt.completion_tokens;
  }
  return tokens;
}

// The stream begins when there is something to send, because an error before that is an answer of
// its own, and when all prompts that it echoes have been scored.
std::vector<Json> CompletionRun::take_parts() {
  std::vector<Json> parts;
  const auto is_unscored = [](const CompletedPrompt& prompt) { return prompt.logprobs.empty(); };
  if (scores_prompts() && !finished() && std::ranges::any_of(prompts_, is_unscored)) return parts;
  const auto add = [&](const std::vector<Json>& more) {
    parts.insert(parts.end(), more.begin(), more.end());
  };
  for (std::size_t i = 0; i < shared_->unsent.size(); ++i) {
    Unsent& unsent = shared_->unsent[i];
    const auto reason = std::exchange(unsent.reason, std::nullopt);
    const bool has_ids = request_.with_token_ids && !unsent.tokens.empty();
    const bool has_part = !unsent.text.empty() || !unsent.scores.empty() || has_ids;
    if ((has_part || reason) && !std::exchange(has_begun_, true)) {
      for (std::size_t j = 0; j < shared_->unsent.size(); ++j) {
        add(form_->begin(j, request_, prompt_of(j)));
      }
    }
    if (has_part) {
      add(form_->part(i, unsent.text, unsent.tokens, unsent.scores, unsent.ends));
      unsent = {.length = unsent.length};
    }
    if (reason && *reason != FinishReason::cancelled) add(form_->end(i, *reason, unsent.length));
  }
  if (!request_.include_usage) return parts;
  // As OpenAI documents, all parts have this member; it is null except in the last one.
  for (Json& part : parts) part.add("usage", nullptr);
  if (finished() && !error_ && !std::exchange(has_usage_, true)) {
    parts.push_back(form_->usage(result()));
  }
  return parts;
}

}  // namespace gpt2
