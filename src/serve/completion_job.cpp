#include "serve/completion_job.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/seconds_since.h"
#include "requests/completion_run.h"

namespace gpt2::serve {
namespace {

// What is new of a text and has not been sent yet.
struct News {
  std::string text = {};
  std::vector<TokenId> tokens = {};
  std::vector<TokenLogprob> scores = {};
  std::optional<FinishReason> reason = {};     // until the end has been sent
  std::optional<Clock::time_point> last = {};  // when the last token was written
};

class CompletionJob : public Job {
 public:
  CompletionJob(ServedModel& model, CompletionRequest request, std::unique_ptr<AnswerForm> form,
                std::shared_ptr<Call> call)
      : Job(std::move(call)),
        form_(std::move(form)),
        news_(request.best_of * request.prompts.size()),
        run_(model.engine, model.scheduler, model.tokenizer, std::move(request), events()) {}

  [[nodiscard]] bool has_own_passes() const override { return run_.has_own_passes(); }
  void compute(const std::function<void()>& between) override { run_.compute(between); }
  void begin() override { run_.advance(); }
  bool advance() override;

 private:
  [[nodiscard]] RunEvents events();
  void take(std::size_t index, const CompletionPiece& piece);
  void begin_stream();
  void send_news(std::size_t index);
  void write_part(Json part);
  void answer();

  const std::unique_ptr<AnswerForm> form_;
  std::vector<News> news_;  // of each text
  bool streams_ = false;    // whether a stream has begun
  CompletionRun run_;
};

RunEvents CompletionJob::events() {
  return {.goes_on = [this] { return is_wanted(); },
          .on_piece = [this](std::size_t i, const CompletionPiece& piece) { take(i, piece); },
          .on_finish = [this](std::size_t i, FinishReason reason) { news_[i].reason = reason; }};
}

void CompletionJob::take(std::size_t index, const CompletionPiece& piece) {
  News& news = news_[index];
  if (piece.token) {
    const Clock::time_point now = Clock::now();
    if (news.last) {
      call_->metrics.note_token(std::chrono::duration<double>(now - *news.last).count());
    } else {
      call_->metrics.note_first_token(seconds_since(call_->arrival));
    }
    news.last = now;
  }
  if (!run_.request().stream) return;
  news.text += piece.text;
  if (piece.token) news.tokens.push_back(*piece.token);
  if (piece.score != nullptr) news.scores.push_back(*piece.score);
}

bool CompletionJob::advance() {
  const bool goes_on = run_.advance();
  if (run_.request().stream) {
    for (std::size_t i = 0; i < news_.size(); ++i) send_news(i);
  }
  if (goes_on) return false;
  if (is_wanted()) {
    answer();
  } else {
    give_up();
  }
  return true;
}

// The stream begins when there is something to send, because an error before that is an answer of
// its own.
void CompletionJob::begin_stream() {
  call_->begin_stream();
  const CompletionRequest& request = run_.request();
  for (std::size_t i = 0; i < news_.size(); ++i) {
    const Json first = form_->begin(i, request, run_.prompts()[i / request.best_of]);
    if (!first.is_null()) write_part(first);
  }
}

void CompletionJob::send_news(std::size_t index) {
  News& news = news_[index];
  const bool has_part = !news.text.empty() || !news.scores.empty() ||
                        (run_.request().with_token_ids && !news.tokens.empty());
  const auto reason = std::exchange(news.reason, std::nullopt);
  if ((has_part || reason) && !std::exchange(streams_, true)) begin_stream();
  if (has_part) {
    write_part(form_->part(index, news.text, news.tokens, news.scores));
    news.text.clear();
    news.tokens.clear();
    news.scores.clear();
  }
  if (reason && reason != FinishReason::cancelled) write_part(form_->end(index, *reason));
}

// As OpenAI documents, all parts of a stream with usage have this member; it is null except in the
// last one.
void CompletionJob::write_part(Json part) {
  if (run_.request().include_usage) part["usage"] = nullptr;
  call_->write_event(part);
}

void CompletionJob::answer() {
  const CompletionRequest& request = run_.request();
  const std::vector<CompletedPrompt> prompts = run_.result();  // throws the error of a text
  for (const CompletedPrompt& prompt : prompts) {
    call_->metrics.count_tokens(prompt.prompt.tokens.size(), prompt.completion_tokens);
  }
  if (!request.stream) return call_->send(200, form_->whole(request, prompts));
  if (request.include_usage) {
    Json last = form_->end(0, FinishReason::length);
    last["choices"] = Json::array();
    last["usage"] = usage_json(prompts);
    call_->write_event(last);
  }
  call_->end_stream();
}

}  // namespace

std::unique_ptr<Job> completion_job(ServedModel& model, CompletionRequest request,
                                    std::unique_ptr<AnswerForm> form, std::shared_ptr<Call> call) {
  return std::make_unique<CompletionJob>(model, std::move(request), std::move(form),
                                         std::move(call));
}

}  // namespace gpt2::serve
