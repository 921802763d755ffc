#include "serve/completion_job.h"

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/seconds_since.h"
#include "gpt2/beam_search.h"

namespace gpt2::serve {
namespace {

// What the scheduler has written of a text and the job has not taken yet. The scheduler may still
// hold it when the job has ended.
struct Written {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<TokenLogprob> scores;
  std::optional<Clock::time_point> last;  // when the last token was written
};

struct Text {
  std::size_t prompt;
  std::size_t index;  // of its choice
  std::shared_ptr<Written> written = std::make_shared<Written>();
  std::future<GenerationResult> future = {};
  std::optional<GenerationResult> result = {};
  bool has_ended = false;
};

class CompletionJob : public Job {
 public:
  CompletionJob(ServedModel& model, CompletionRequest request, std::unique_ptr<AnswerForm> form,
                std::shared_ptr<Call> call)
      : Job(std::move(call)), model_(model), request_(std::move(request)), form_(std::move(form)) {
    for (const CompletionPrompt& prompt : request_.prompts) prompts_.push_back({prompt, {}, {}});
  }

  [[nodiscard]] bool has_own_passes() const override {
    return searches() || (request_.echo && request_.with_logprobs);
  }

  void compute(const std::function<void()>& between) override;
  void begin() override;
  bool advance() override;

 private:
  [[nodiscard]] bool searches() const { return request_.beams.num_beams > 1; }
  void search(CompletedPrompt& prompt, const std::function<void()>& between);
  void submit(Text& text);
  void take(Text& text);
  void begin_stream();
  void stream(Text& text);
  void write_part(Json part);
  void answer();
  void count_tokens();

  ServedModel& model_;
  const CompletionRequest request_;
  const std::unique_ptr<AnswerForm> form_;
  std::vector<CompletedPrompt> prompts_;
  std::vector<Text> texts_;
  std::exception_ptr error_;  // the first one of a text
  bool streams_ = false;      // whether a stream has begun
};

void CompletionJob::compute(const std::function<void()>& between) {
  for (CompletedPrompt& prompt : prompts_) {
    if (!is_wanted()) return;
    if (searches()) {
      search(prompt, between);
      continue;
    }
    const std::size_t top = *request_.options.top_logprobs;
    prompt.logprobs = prompt_logprobs(model_.engine, prompt.prompt.tokens, top,
                                      [&](double) { pause(between); });
  }
}

void CompletionJob::search(CompletedPrompt& prompt, const std::function<void()>& between) {
  BeamSearchOptions options = {.beams = request_.beams,
                               .max_new_tokens = prompt.prompt.max_new_tokens,
                               .sampling = request_.options.sampling,
                               .stop_tokens = request_.options.stop_tokens,
                               .ignore_eos = request_.options.ignore_eos,
                               .tokenizer = model_.tokenizer};
  const auto goes_on = [&] {
    between();
    return is_wanted();
  };
  options.on_prompt = [&](std::size_t, std::size_t) { return goes_on(); };
  options.on_step = [&](const BeamStep&) { return goes_on(); };
  for (BeamSequence& found : beam_search(model_.engine, prompt.prompt.tokens, options)) {
    GenerationResult result = {.finish_reason = found.finish_reason,
                               .tokens = std::move(found.tokens)};
    prompt.choices.push_back({std::move(found.text), std::move(result)});
  }
}

void CompletionJob::begin() {
  if (searches()) return;
  for (std::size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    for (std::size_t i = 0; i < request_.best_of; ++i) {
      texts_.push_back({.prompt = prompt, .index = texts_.size()});
    }
  }
  for (Text& text : texts_) submit(text);
}

// Choice i has the sequence i, so that it is the text that gpt2 generate --sequence i writes.
void CompletionJob::submit(Text& text) {
  const CompletionPrompt& prompt = prompts_[text.prompt].prompt;
  GenerationOptions options = request_.options;
  options.max_new_tokens = prompt.max_new_tokens;
  options.sampling.sequence += text.index;
  options.on_prompt = [call = call_](std::size_t, std::size_t) { return call->goes_on(); };
  const auto on_text = [written = text.written, call = call_](std::string_view piece) {
    written->text += piece;
    return call->goes_on();
  };
  TextTarget target(*model_.tokenizer, on_text, nullptr);
  target.on_token_of_text = [written = text.written, call = call_](TokenId token) {
    const Clock::time_point now = Clock::now();
    if (written->last) {
      call->metrics.note_token(std::chrono::duration<double>(now - *written->last).count());
    } else {
      call->metrics.note_first_token(seconds_since(call->arrival));
    }
    written->last = now;
    written->tokens.push_back(token);
    return true;
  };
  target.on_logprob = [written = text.written](TokenId, const TokenLogprob& logprob) {
    written->scores.push_back(logprob);
  };
  target.is_wanted = [call = call_] { return call->goes_on(); };
  text.future = model_.scheduler.submit(prompt.tokens, options, std::move(target));
}

bool CompletionJob::advance() {
  bool is_complete = true;
  for (Text& text : texts_) {
    if (text.has_ended) continue;
    take(text);
    if (request_.stream && !error_) stream(text);
    is_complete = is_complete && text.has_ended;
  }
  if (!is_complete) return false;
  if (error_) {
    call_->fail(error_);
  } else if (!is_wanted()) {
    give_up();
  } else {
    answer();
  }
  return true;
}

// Takes the result of a text that has ended. If it is an error, the other texts end, too.
void CompletionJob::take(Text& text) {
  if (text.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  text.has_ended = true;
  try {
    text.result = text.future.get();
  } catch (...) {
    if (!error_) error_ = std::current_exception();
    call_->cancel();
  }
}

// The stream begins when there is something to send, because an error before that is an answer of
// its own.
void CompletionJob::begin_stream() {
  call_->begin_stream();
  for (const Text& text : texts_) {
    const Json first = form_->begin(text.index, request_, prompts_[text.prompt]);
    if (!first.is_null()) write_part(first);
  }
}

// Sends what is new of a text.
void CompletionJob::stream(Text& text) {
  Written& written = *text.written;
  const bool has_part = !written.text.empty() || !written.scores.empty() ||
                        (request_.with_token_ids && !written.tokens.empty());
  if ((has_part || text.has_ended) && !std::exchange(streams_, true)) begin_stream();
  if (has_part) {
    write_part(form_->part(text.index, written.text, written.tokens, written.scores));
    written.text.clear();
    written.tokens.clear();
    written.scores.clear();
  }
  const bool is_cut = text.has_ended && text.result->finish_reason == FinishReason::cancelled;
  if (text.has_ended && !is_cut) write_part(form_->end(text.index, text.result->finish_reason));
}

// As OpenAI documents, all parts of a stream with usage have this member; it is null except in the
// last one.
void CompletionJob::write_part(Json part) {
  if (request_.include_usage) part["usage"] = nullptr;
  call_->write_event(part);
}

void CompletionJob::answer() {
  for (Text& text : texts_) {
    prompts_[text.prompt].choices.push_back(
        {std::move(text.written->text), std::move(*text.result)});
  }
  for (CompletedPrompt& prompt : prompts_) keep_best(prompt, request_.n);
  count_tokens();
  if (!request_.stream) return call_->send(200, form_->whole(request_, prompts_));
  if (request_.include_usage) {
    Json last = form_->end(0, FinishReason::length);
    last["choices"] = Json::array();
    last["usage"] = usage_json(prompts_);
    call_->write_event(last);
  }
  call_->end_stream();
}

void CompletionJob::count_tokens() {
  for (const CompletedPrompt& prompt : prompts_) {
    call_->metrics.count_tokens(prompt.prompt.tokens.size(), prompt.completion_tokens);
  }
}

}  // namespace

std::unique_ptr<Job> completion_job(ServedModel& model, CompletionRequest request,
                                    std::unique_ptr<AnswerForm> form, std::shared_ptr<Call> call) {
  return std::make_unique<CompletionJob>(model, std::move(request), std::move(form),
                                         std::move(call));
}

}  // namespace gpt2::serve
