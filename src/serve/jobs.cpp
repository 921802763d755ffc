#include "serve/jobs.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "gpt2/session.h"
#include "requests/completion_run.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxStops = 256;      // each is sought in the text at each token
constexpr std::size_t kMaxHeld = 64 << 20;  // bytes of one request
constexpr std::size_t kTextBytes = 4096;    // that a text holds, without its lists
constexpr std::size_t kLogprobBytes = 16;   // of a log-probability and its token
constexpr std::size_t kMaxWeights = 16
                                    << 20;  // of attention in a page; two bytes each, before base64

// The bytes that one text needs for the lists among its options.
std::size_t option_bytes(const GenerationOptions& options) {
  const SamplingOptions& sampling = options.sampling;
  std::size_t bytes = 4 * (sampling.suppress_tokens.size() + sampling.begin_suppress_tokens.size());
  for (const std::string& stop : options.stop) bytes += 64 + stop.size();
  for (const auto& ids : sampling.bad_words_ids) bytes += 64 + 4 * ids.size();
  for (const SequenceBias& bias : sampling.sequence_bias) bytes += 64 + 4 * bias.ids.size();
  return bytes + 16 * sampling.logit_bias.size();
}

// The max number of log-probabilities in the answer. The last token of a text needs no room in the
// context.
std::size_t logprobs_of(const CompletionRequest& request, std::size_t n_positions) {
  if (!request.options.top_logprobs) return 0;
  const bool slides = request.options.overflow == Overflow::slide;
  std::size_t tokens = 0;
  for (const CompletionPrompt& prompt : request.prompts) {
    const std::size_t room = slides ? kMaxHeld : n_positions - prompt.tokens.size() + 1;
    tokens += std::min(prompt.max_new_tokens, room);
    if (request.echo) tokens += prompt.tokens.size();
  }
  return tokens * request.best_of * (1 + *request.options.top_logprobs);
}

// The bytes of keys, values and logits of the largest of the request's beam searches.
std::size_t beam_bytes(const CompletionRequest& request, const ServedModel& model) {
  std::size_t tokens = 0;
  for (const CompletionPrompt& prompt : request.prompts) {
    const std::size_t room = model.config.n_positions - prompt.tokens.size();
    tokens = std::max(tokens, prompt.tokens.size() + std::min(prompt.max_new_tokens, room));
  }
  const std::size_t one = Session::memory_bytes(model.config, model.engine.kv_type(), tokens);
  return request.beams.num_beams * (one + sizeof(float) * model.config.vocab_size);
}

std::size_t tokens_of(const EmbeddingRequest& request) {
  std::size_t tokens = 0;
  for (const auto& input : request.inputs) tokens += input.size();
  return tokens;
}

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

// A request whose answer takes passes of its own only, and is sent as a whole.
class OwnPassesJob : public Job {
 public:
  using Compute = std::function<HttpAnswer(const std::function<void(double)>& progress)>;

  /// `tokens`: how many the request has.
  OwnPassesJob(std::size_t tokens, Compute compute, std::shared_ptr<Call> call)
      : Job(std::move(call)), tokens_(tokens), compute_(std::move(compute)) {}

  [[nodiscard]] bool has_own_passes() const override { return true; }

  void compute(const std::function<void()>& between) override {
    HttpAnswer answer = compute_([&](double) { pause(between); });
    call_->metrics.count_tokens(tokens_, 0);
    call_->send(std::move(answer));
  }

 private:
  const std::size_t tokens_;
  const Compute compute_;
};

}  // namespace

std::size_t held_bytes(const CompletionRequest& request, const ServedModel& model) {
  const std::size_t stops = request.options.stop.size() - request.own_stops;
  if (stops > kMaxStops) reject("stop: expected at most ", kMaxStops, " strings, found ", stops);
  const std::size_t one = kTextBytes + option_bytes(request.options);
  std::size_t bytes = kLogprobBytes * logprobs_of(request, model.config.n_positions);
  for (const CompletionPrompt& prompt : request.prompts) {
    bytes += request.best_of * (one + sizeof(TokenId) * prompt.tokens.size());
  }
  if (bytes > kMaxHeld) {
    reject("the options and log-probabilities of the request's texts take ", bytes,
           " bytes, but may take at most ", kMaxHeld,
           ": divide it, or ask for fewer logprobs or max_tokens");
  }
  if (request.beams.num_beams == 1) return bytes;
  if (const std::size_t needed = beam_bytes(request, model); needed > model.beam_memory) {
    reject("num_beams: ", request.beams.num_beams, " beams need ", needed,
           " bytes for keys, values and logits, but the server has ", model.beam_memory,
           ": give fewer beams or a smaller max_tokens");
  }
  return bytes;
}

std::size_t held_bytes(const EmbeddingRequest& request) {
  return sizeof(TokenId) * tokens_of(request);
}

std::size_t held_bytes(const InspectionRequest& request, const ServedModel& model) {
  const std::size_t heads = model.config.n_layer * model.config.n_head;
  const std::size_t tokens = request.tokens.size();
  const std::size_t weights = heads * tokens * (tokens + 1) / 2;
  if (weights > kMaxWeights) {
    reject("prompt: ", tokens, " tokens are too many for a page of a moderate size: ",
           "give a shorter text, or use 'gpt2 inspect'");
  }
  return sizeof(TokenId) * tokens;
}

std::unique_ptr<Job> completion_job(ServedModel& model, CompletionRequest request,
                                    std::unique_ptr<AnswerForm> form, std::shared_ptr<Call> call) {
  return std::make_unique<CompletionJob>(model, std::move(request), std::move(form),
                                         std::move(call));
}

std::unique_ptr<Job> embedding_job(const ServedModel& model, EmbeddingRequest request,
                                   std::shared_ptr<Call> call) {
  const std::size_t tokens = tokens_of(request);
  auto compute = [&model, request = std::move(request)](const auto& progress) {
    EmbedOptions options = request.options;
    options.progress = progress;
    auto vectors = embed(model.engine, request.inputs, options);
    return json_answer(200, embedding_json(request, model.name, std::move(vectors)));
  };
  return std::make_unique<OwnPassesJob>(tokens, std::move(compute), std::move(call));
}

std::unique_ptr<Job> inspect_job(const ServedModel& model, InspectionRequest request,
                                 std::shared_ptr<Call> call) {
  request.with_attention = true;  // the page always shows them
  const std::size_t tokens = request.tokens.size();
  auto compute = [&model, request = std::move(request)](const auto& progress) {
    const InspectionResult result = run_inspection(model.engine, request, progress);
    const InspectedModel of = {model.name, model.engine.model(), model.tokenizer};
    return HttpAnswer{.body = inspection_page(request, result, of),
                      .content_type = "text/html; charset=utf-8"};
  };
  return std::make_unique<OwnPassesJob>(tokens, std::move(compute), std::move(call));
}

}  // namespace gpt2::serve
