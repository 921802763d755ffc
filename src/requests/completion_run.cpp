#include "requests/completion_run.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "base/set_while_alive.h"
#include "generate/writing/passes.h"
#include "generate/writing/text_sink.h"

namespace gpt2 {
namespace {

// What a run shares with its texts, which the scheduler may still hold when the run is gone.
struct Link {
  explicit Link(RunEvents of_door) : events(std::move(of_door)) {}

  // Calls an event with these arguments, unless there is none or the run is gone.
  template <class Event, class... Arguments>
  void tell(const Event& event, Arguments&&... arguments) const {
    if (event && !is_abandoned) event(std::forward<Arguments>(arguments)...);
  }

  bool goes_on() {
    if (!is_cancelled && events.goes_on && !events.goes_on()) is_cancelled = true;
    return !is_cancelled;
  }

  const RunEvents events;
  std::atomic<bool> is_cancelled = false;
  std::atomic<bool> is_abandoned = false;  // whether the run is gone; it is cancelled, too
};

// What has been written of a text.
struct Written {
  std::string text = {};
  CompletionPiece piece = {};  // the next one, until its text is known
};

using WrittenPointer = std::shared_ptr<Written>;

TextTarget target_of(const std::optional<Tokenizer>& tokenizer, std::size_t index,
                     const std::shared_ptr<Link>& link, const WrittenPointer& written) {
  const auto give = [index, link, written](std::string_view text) {
    written->text += text;
    CompletionPiece piece = std::exchange(written->piece, {});
    piece.text = text;
    if (piece.token || !text.empty()) link->tell(link->events.on_piece, index, piece);
    return link->goes_on();
  };
  const auto take_token = [written](TokenId token) {
    written->piece.token = token;
    return true;
  };
  TextTarget target(tokenizer, give, [give, take_token](TokenId token) {
    take_token(token);
    return give("");
  });
  target.on_token_of_text = take_token;
  target.on_logprob = [written](TokenId, const TokenLogprob& score) {
    written->piece.score = &score;
  };
  target.is_wanted = [link] { return link->goes_on(); };
  return target;
}

// A text that the scheduler writes, or that has ended and waits for those before it.
struct RunText {
  std::size_t index;
  WrittenPointer written = std::make_shared<Written>();
  std::future<GenerationResult> future = {};
  std::optional<CompletionChoice> ended = {};
};

// A text in a session of the door.
struct SessionText {
  SessionText(Session& session, const CompletionPrompt& prompt, const GenerationOptions& options,
              TextTarget target)
      : passes(session.engine()), generation(session, prompt.tokens, options, target) {}

  void step(const Link& link) {
    Generation* const texts[] = {&generation};
    if (!link.is_cancelled) passes.run(texts);
    if (link.is_cancelled) generation.cancel();
  }

  Passes passes;
  Generation generation;
};

// Thrown within compute() to end it.
struct Cancelled {};

}  // namespace

class CompletionRun::Impl {
 public:
  Impl(const Engine& engine, Scheduler* scheduler, std::optional<Tokenizer> tokenizer,
       CompletionRequest request, RunEvents events)
      : request_(std::move(request)),
        engine_(engine),
        scheduler_(scheduler),
        tokenizer_(std::move(tokenizer)),
        link_(std::make_shared<Link>(std::move(events))),
        next_(request_.first),
        first_(request_.first) {
    for (const CompletionPrompt& prompt : request_.prompts) prompts_.push_back({prompt, {}, {}});
  }

  void begin_in(Session& session);
  void abandon() noexcept;

  [[nodiscard]] const CompletionRequest& request() const { return request_; }
  [[nodiscard]] const std::vector<CompletedPrompt>& prompts() const { return prompts_; }
  [[nodiscard]] bool has_own_passes() const {
    return searches() || (request_.echo && request_.with_logprobs);
  }
  void compute(const std::function<void()>& between);
  bool advance();
  bool step();
  [[nodiscard]] bool finished() const;
  void cancel() { link_->is_cancelled = true; }
  [[nodiscard]] std::vector<CompletedPrompt> result();

 private:
  [[nodiscard]] bool searches() const { return request_.beams.num_beams > 1; }
  [[nodiscard]] std::size_t count() const { return request_.best_of * request_.prompts.size(); }
  [[nodiscard]] bool may_submit() const;
  [[nodiscard]] GenerationOptions options_of(std::size_t index) const;
  void search(CompletedPrompt& prompt, const std::function<void()>& pause);
  void submit_next();
  void take(RunText& text);
  void take_first();

  const CompletionRequest request_;
  const Engine engine_;
  Scheduler* const scheduler_;
  const std::optional<Tokenizer> tokenizer_;
  const std::shared_ptr<Link> link_;
  std::vector<CompletedPrompt> prompts_;
  bool is_computed_ = false;
  std::size_t next_;   // the index of the next text to be submitted
  std::size_t first_;  // that of the first one of texts_
  std::deque<RunText> texts_;
  std::unique_ptr<SessionText> in_session_;
  bool is_stepping_ = false;  // whether a pass of the session is on the stack
  std::exception_ptr error_;  // the first one, if it ends the run
};

void CompletionRun::Impl::begin_in(Session& session) {
  if (count() != 1 || has_own_passes()) {
    reject("a session has one text: leave out \"n\", \"best_of\", \"num_beams\" and \"echo\"");
  }
  is_computed_ = true;
  RunText& text = texts_.emplace_back(RunText{.index = next_++});
  const TextTarget target = target_of(tokenizer_, 0, link_, text.written);
  const GenerationOptions options = options_of(0);
  check_target(target, options, engine_.model().config());
  in_session_ = std::make_unique<SessionText>(session, request_.prompts[0], options, target);
}

void CompletionRun::Impl::abandon() noexcept {
  link_->is_abandoned = link_->is_cancelled = true;
  if (in_session_ && !is_stepping_) in_session_->generation.cancel();
}

GenerationOptions CompletionRun::Impl::options_of(std::size_t index) const {
  GenerationOptions options = request_.options;
  options.max_new_tokens = request_.prompts[index / request_.best_of].max_new_tokens;
  options.sampling.sequence += index;
  options.on_prompt = [link = link_](std::size_t read, std::size_t total) {
    link->tell(link->events.on_prompt, read, total);
    return link->goes_on();
  };
  return options;
}

void CompletionRun::Impl::compute(const std::function<void()>& between) {
  if (std::exchange(is_computed_, true) || !has_own_passes()) return;
  const auto pause = [&] {
    if (between) between();
    if (!link_->goes_on()) throw Cancelled();
  };
  try {
    for (CompletedPrompt& prompt : prompts_) {
      if (searches()) {
        search(prompt, between);
      } else {
        prompt.logprobs = prompt_logprobs(engine_, prompt.prompt.tokens,
                                          *request_.options.top_logprobs, [&](double) { pause(); });
      }
      if (!link_->goes_on()) return;
    }
  } catch (const Cancelled&) {
  } catch (...) {
    cancel();
    throw;
  }
}

void CompletionRun::Impl::search(CompletedPrompt& prompt, const std::function<void()>& between) {
  BeamSearchOptions options = {.beams = request_.beams,
                               .max_new_tokens = prompt.prompt.max_new_tokens,
                               .sampling = request_.options.sampling,
                               .stop_tokens = request_.options.stop_tokens,
                               .ignore_eos = request_.options.ignore_eos,
                               .tokenizer = tokenizer_,
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
bool CompletionRun::Impl::may_submit() const {
  if (searches() || next_ == count()) return false;
  return !link_->is_cancelled || next_ == request_.first;
}

void CompletionRun::Impl::submit_next() {
  RunText& text = texts_.emplace_back(RunText{.index = next_++});
  try {
    const CompletionPrompt& prompt = request_.prompts[text.index / request_.best_of];
    text.future = scheduler_->submit(prompt.tokens, options_of(text.index),
                                     target_of(tokenizer_, text.index, link_, text.written));
  } catch (const Error&) {
    std::promise<GenerationResult> broken;
    text.future = broken.get_future();
    broken.set_exception(std::current_exception());
  }
}

// Takes the result of a text if it has ended.
void CompletionRun::Impl::take(RunText& text) {
  if (text.ended || text.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return;
  }
  CompletionChoice& ended = text.ended.emplace();
  ended.index = text.index;
  try {
    ended.result = text.future.get();
    ended.text = std::move(text.written->text);
    link_->tell(link_->events.on_finish, text.index, ended.result.finish_reason);
  } catch (...) {
    ended.error = std::current_exception();
    if (link_->events.on_choice) return;
    if (!error_) error_ = ended.error;
    cancel();
  }
}

// Gives the first text, which has ended, to the door or to its prompt.
void CompletionRun::Impl::take_first() {
  RunText text = std::move(texts_.front());
  texts_.pop_front();
  const auto& on_choice = link_->events.on_choice;
  if (on_choice) return link_->tell(on_choice, std::move(*text.ended));
  prompts_[text.index / request_.best_of].choices.push_back(std::move(*text.ended));
}

bool CompletionRun::Impl::advance() {
  compute({});
  for (RunText& text : texts_) take(text);
  while (!texts_.empty() && texts_.front().ended) take_first();
  while (may_submit() && texts_.size() < kMaxTexts) submit_next();
  return !finished();
}

bool CompletionRun::Impl::step() {
  if (!in_session_) {
    if (!advance()) return false;
    scheduler_->step();
    return link_->is_abandoned ? false : advance();
  }
  if (finished()) return false;
  {
    const SetWhileAlive stepping_now(is_stepping_);
    in_session_->step(*link_);
  }
  if (!in_session_->generation.finished()) return true;
  std::promise<GenerationResult> ended;
  texts_.front().future = ended.get_future();
  try {
    ended.set_value(in_session_->generation.take_result());
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  return advance();
}

bool CompletionRun::Impl::finished() const {
  return is_computed_ && texts_.empty() && !may_submit();
}

std::vector<CompletedPrompt> CompletionRun::Impl::result() {
  if (error_) std::rethrow_exception(error_);
  for (CompletedPrompt& prompt : prompts_) keep_best(prompt, request_.n);
  return std::move(prompts_);
}

CompletionRun::CompletionRun(const Engine& engine, Scheduler& scheduler,
                             std::optional<Tokenizer> tokenizer, CompletionRequest request,
                             RunEvents events)
    : impl_(std::make_shared<Impl>(engine, &scheduler, std::move(tokenizer), std::move(request),
                                   std::move(events))) {}

CompletionRun::CompletionRun(Session& session, std::optional<Tokenizer> tokenizer,
                             CompletionRequest request, RunEvents events)
    : impl_(std::make_shared<Impl>(session.engine(), nullptr, std::move(tokenizer),
                                   std::move(request), std::move(events))) {
  impl_->begin_in(session);
}

CompletionRun::~CompletionRun() {
  if (impl_) impl_->abandon();
}

const CompletionRequest& CompletionRun::request() const noexcept { return impl_->request(); }

const std::vector<CompletedPrompt>& CompletionRun::prompts() const noexcept {
  return impl_->prompts();
}

bool CompletionRun::has_own_passes() const noexcept { return impl_->has_own_passes(); }

void CompletionRun::compute(const std::function<void()>& between) {
  const std::shared_ptr<Impl> kept = impl_;  // an event may destroy this object
  kept->compute(between);
}

bool CompletionRun::advance() {
  const std::shared_ptr<Impl> kept = impl_;
  return kept->advance();
}

bool CompletionRun::step() {
  const std::shared_ptr<Impl> kept = impl_;
  return kept->step();
}

bool CompletionRun::finished() const noexcept { return impl_->finished(); }

void CompletionRun::cancel() noexcept { impl_->cancel(); }

std::vector<CompletedPrompt> CompletionRun::result() { return impl_->result(); }

}  // namespace gpt2
