#include "requests/run/completion_run.h"

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "generate/writing/passes.h"
#include "generate/writing/text_sink.h"

namespace gpt2 {

// What is new of a text of a stream and is not in a part of it yet.
struct CompletionRun::News {
  std::string text = {};
  std::vector<TokenId> tokens = {};
  std::vector<TokenLogprob> scores = {};
  std::optional<FinishReason> reason = {};  // until it is
  std::size_t length = 0;                   // in tokens, of a text that has ended
};

// What a run shares with its texts, which the scheduler may still hold when the run is gone.
struct CompletionRun::Link {
  // Calls an event with these arguments, unless there is none or the run is gone.
  template <class Event, class... Arguments>
  void tell(const Event& event, Arguments&&... arguments) const {
    if (event && !is_abandoned) event(std::forward<Arguments>(arguments)...);
  }

  bool goes_on() {
    if (!is_cancelled && events.goes_on && !events.goes_on()) is_cancelled = true;
    return !is_cancelled;
  }

  void note_piece(std::size_t index, const CompletionPiece& piece) {
    if (piece.token || !piece.text.empty()) tell(events.on_piece, index, piece);
    if (news.empty()) return;
    News& of_text = news[index];
    of_text.text += piece.text;
    if (piece.token) of_text.tokens.push_back(*piece.token);
    if (piece.score != nullptr) of_text.scores.push_back(*piece.score);
  }

  const RunEvents events;
  std::vector<News> news;  // of each text, if the request is for a stream
  bool is_cancelled = false;
  bool is_abandoned = false;  // whether the run is gone; it is cancelled, too
};

// A text that is being written, or that has ended and waits for those before it.
struct CompletionRun::Text {
  // What has been written of it.
  struct Written {
    std::string text = {};
    CompletionPiece piece = {};  // the next one, until its text is known
  };

  std::size_t index;
  std::shared_ptr<Written> written = std::make_shared<Written>();
  std::future<GenerationResult> future = {};
  std::optional<CompletionChoice> ended = {};
};

// A text in a session of the door.
struct CompletionRun::InSession {
  InSession(Session& session, const CompletionPrompt& prompt, const GenerationOptions& options,
            const TextTarget& target)
      : passes(session.engine()), generation(session, prompt.tokens, options, target) {}

  Passes passes;
  Generation generation;
};

CompletionRun::CompletionRun(const Engine& engine, Scheduler* scheduler,
                             std::optional<Tokenizer> tokenizer, CompletionRequest request,
                             RunEvents events, std::unique_ptr<AnswerForm> form)
    : request_(std::move(request)),
      engine_(engine),
      scheduler_(scheduler),
      tokenizer_(std::move(tokenizer)),
      form_(std::move(form)),
      link_(new Link{.events = std::move(events),
                     .news = std::vector<News>(request_.stream ? count() : 0)}),
      next_(request_.first) {
  for (const CompletionPrompt& prompt : request_.prompts) prompts_.push_back({prompt, {}, {}});
}

CompletionRun::CompletionRun(const Engine& engine, Scheduler& scheduler,
                             std::optional<Tokenizer> tokenizer, CompletionRequest request,
                             RunEvents events, std::unique_ptr<AnswerForm> form)
    : CompletionRun(engine, &scheduler, std::move(tokenizer), std::move(request), std::move(events),
                    std::move(form)) {}

CompletionRun::CompletionRun(Session& session, std::optional<Tokenizer> tokenizer,
                             CompletionRequest request, RunEvents events,
                             std::unique_ptr<AnswerForm> form)
    : CompletionRun(session.engine(), nullptr, std::move(tokenizer), std::move(request),
                    std::move(events), std::move(form)) {
  if (count() != 1 || has_own_passes()) {
    reject("a session has one text: leave out \"n\", \"best_of\", \"num_beams\" and \"echo\"");
  }
  is_computed_ = true;
  const Text& text = texts_.emplace_back(Text{.index = next_++});
  const TextTarget target = target_of(text);
  const GenerationOptions options = options_of(0);
  check_target(target, options, engine_.model().config());
  in_session_ = std::make_unique<InSession>(session, request_.prompts[0], options, target);
}

CompletionRun::~CompletionRun() {
  link_->is_abandoned = link_->is_cancelled = true;
  if (in_session_) in_session_->generation.cancel();
}

TextTarget CompletionRun::target_of(const Text& text) const {
  const auto give = [index = text.index, link = link_,
                     written = text.written](std::string_view added) {
    written->text += added;
    CompletionPiece piece = std::exchange(written->piece, {});
    piece.text = added;
    link->note_piece(index, piece);
    return link->goes_on();
  };
  const auto take_token = [written = text.written](TokenId token) {
    written->piece.token = token;
    return true;
  };
  TextTarget target(tokenizer_, give, [give, take_token](TokenId token) {
    take_token(token);
    return give("");
  });
  target.on_token_of_text = take_token;
  target.on_logprob = [written = text.written](TokenId, const TokenLogprob& score) {
    written->piece.score = &score;
  };
  target.is_wanted = [link = link_] { return link->goes_on(); };
  return target;
}

GenerationOptions CompletionRun::options_of(std::size_t index) const {
  GenerationOptions options = request_.options;
  options.max_new_tokens = request_.prompts[index / request_.best_of].max_new_tokens;
  options.sampling.sequence += index;
  options.on_prompt = [link = link_](std::size_t read, std::size_t total) {
    link->tell(link->events.on_prompt, read, total);
    return link->goes_on();
  };
  return options;
}

bool CompletionRun::has_own_passes() const noexcept {
  return searches() || (request_.echo && request_.with_logprobs);
}

void CompletionRun::compute(const std::function<void()>& between) {
  if (std::exchange(is_computed_, true) || !has_own_passes()) return;
  const auto pause = [&](double) {
    if (between) between();
    if (!link_->goes_on()) throw Cancelled();
  };
  try {
    for (CompletedPrompt& prompt : prompts_) {
      if (searches()) {
        search(prompt, between);
      } else {
        prompt.logprobs =
            prompt_logprobs(engine_, prompt.prompt.tokens, *request_.options.top_logprobs, pause);
      }
      if (!link_->goes_on()) return;
    }
  } catch (const Cancelled&) {
  } catch (...) {
    link_->is_cancelled = true;
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
  const auto goes_on = [&] {
    if (between) between();
    return link_->goes_on();
  };
  GenerationResult common = {.finish_reason = FinishReason::cancelled,
                             .tokens = {},
                             .prompt_tokens = prompt.prompt.tokens.size()};
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    link_->tell(link_->events.on_prompt, read, total);
    return goes_on();
  };
  options.on_step = [&](const BeamStep& step) {
    common.logits_hash = step.logits_hash;
    link_->tell(link_->events.on_beam_step, step);
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
    choice.index = prompt.choices.size() - 1;
  }
}

// At least one text is submitted, so that a run that was cancelled at once has a text, too.
bool CompletionRun::may_submit() const {
  if (searches() || next_ == count()) return false;
  return !link_->is_cancelled || next_ == request_.first;
}

void CompletionRun::submit_next() {
  Text& text = texts_.emplace_back(Text{.index = next_++});
  try {
    text.future = scheduler_->submit(prompt_of(text.index).prompt.tokens, options_of(text.index),
                                     target_of(text));
  } catch (const Error&) {
    std::promise<GenerationResult> broken;
    text.future = broken.get_future();
    broken.set_exception(std::current_exception());
  }
}

// Takes the result of a text if it has ended.
void CompletionRun::take(Text& text) {
  if (text.ended || text.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return;
  }
  CompletionChoice& ended = text.ended.emplace();
  ended.index = text.index;
  try {
    ended.result = text.future.get();
    ended.text = std::move(text.written->text);
    if (!request_.stream) return;
    link_->news[text.index].reason = ended.result.finish_reason;
    link_->news[text.index].length = ended.result.tokens.size();
  } catch (...) {
    ended.error = std::current_exception();
    if (link_->events.on_choice) return;
    if (!error_) error_ = ended.error;
    link_->is_cancelled = true;
  }
}

// Gives the first text, which has ended, to the door or to its prompt.
void CompletionRun::take_first() {
  CompletionChoice ended = std::move(*texts_.front().ended);
  texts_.pop_front();
  if (link_->events.on_choice) return link_->events.on_choice(std::move(ended));
  prompt_of(ended.index).choices.push_back(std::move(ended));
}

bool CompletionRun::advance() {
  compute({});
  for (Text& text : texts_) take(text);
  while (!texts_.empty() && texts_.front().ended) take_first();
  while (may_submit() && texts_.size() < kMaxTexts) submit_next();
  return !finished();
}

bool CompletionRun::step() {
  if (!in_session_) {
    if (!advance()) return false;
    scheduler_->step();
    return advance();
  }
  if (finished()) return false;
  Generation& generation = in_session_->generation;
  Generation* const generations[] = {&generation};
  if (!link_->is_cancelled) in_session_->passes.run(generations);
  if (link_->is_cancelled) generation.cancel();
  if (!generation.finished()) return true;
  std::promise<GenerationResult> ended;
  texts_.front().future = ended.get_future();
  try {
    ended.set_value(generation.take_result());
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
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

std::size_t CompletionRun::json_size() {
  constexpr std::size_t kToken = 16, kLogprob = 80, kText = 400;
  std::size_t size = 0;
  for (const CompletedPrompt& prompt : result()) {
    for (const CompletionChoice& choice : prompt.choices) {
      size += kText + 2 * choice.text.size() + kToken * choice.result.tokens.size();
      for (const auto& logprob : choice.result.logprobs)
        size += kLogprob * (1 + logprob.top.size());
    }
  }
  return size;
}

RunTokens CompletionRun::tokens() {
  RunTokens tokens;
  for (const CompletedPrompt& prompt : result()) {
    tokens.prompt += prompt.prompt.tokens.size();
    tokens.completion += prompt.completion_tokens;
  }
  return tokens;
}

// The stream begins when there is something to send, because an error before that is an answer of
// its own.
std::vector<Json> CompletionRun::take_parts() {
  std::vector<Json> parts;
  const auto add = [&](Json part) {
    if (!part.is_array()) part = Json::array({std::move(part)});
    for (Json& one : part) {
      if (!one.is_null()) parts.push_back(std::move(one));
    }
  };
  for (std::size_t i = 0; i < link_->news.size(); ++i) {
    News& news = link_->news[i];
    const auto reason = std::exchange(news.reason, std::nullopt);
    const bool has_ids = request_.with_token_ids && !news.tokens.empty();
    const bool has_part = !news.text.empty() || !news.scores.empty() || has_ids;
    if ((has_part || reason) && !std::exchange(has_begun_, true)) {
      for (std::size_t j = 0; j < link_->news.size(); ++j) {
        add(form_->begin(j, request_, prompt_of(j)));
      }
    }
    if (has_part) {
      add(form_->part(i, news.text, news.tokens, news.scores));
      news = {.length = news.length};
    }
    if (reason && *reason != FinishReason::cancelled) add(form_->end(i, *reason, news.length));
  }
  if (!request_.include_usage) return parts;
  // As OpenAI documents, all parts have this member; it is null except in the last one.
  for (Json& part : parts) part["usage"] = nullptr;
  if (finished() && !error_ && !std::exchange(has_usage_, true)) {
    Json& last = parts.emplace_back(form_->end(0, FinishReason::length, 0));
    last["choices"] = Json::array();
    last["usage"] = usage_json(result());
  }
  return parts;
}

}  // namespace gpt2
