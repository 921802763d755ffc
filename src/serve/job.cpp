#include "serve/job.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "gpt2/session.h"

namespace gpt2::serve {
namespace {

// As a text, because the JSON library needs memory even to free a value.
constexpr const char* kOutOfMemory =
    R"({"error":{"message":"out of memory: try again later","type":"server_error",)"
    R"("param":null,"code":"overloaded"}})";

constexpr std::size_t kMaxStops = 256;      // each is sought in the text at each token
constexpr std::size_t kMaxHeld = 64 << 20;  // bytes of one request
constexpr std::size_t kTextBytes = 4096;    // that a text holds, without its lists
constexpr std::size_t kLogprobBytes = 16;   // of a log-probability and its token
constexpr std::size_t kMaxWeights = 16
                                    << 20;  // of attention in a page; two bytes each, before base64
constexpr std::chrono::seconds kMaxSilence{5};  // of a stream; proxies end it after 30 or more

bool is_stream(const Request& request) {
  const auto* const completion = std::get_if<CompletionRequest>(&request);
  return completion != nullptr && completion->stream;
}

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

std::size_t bytes_of(const CompletionRequest& request, const ServedModel& model) {
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

std::size_t bytes_of(const EmbeddingRequest& request, const ServedModel&) {
  return sizeof(TokenId) * request.tokens();
}

std::size_t bytes_of(const ScoringRequest& request, const ServedModel&) {
  return sizeof(TokenId) * request.tokens();
}

std::size_t bytes_of(const TokensRequest& request, const ServedModel&) {
  return sizeof(TokenId) * request.tokens;
}

std::size_t bytes_of(const InspectionRequest& request, const ServedModel& model) {
  const std::size_t heads = model.config.n_layer * model.config.n_head;
  const std::size_t tokens = request.tokens.size();
  const std::size_t weights = heads * tokens * (tokens + 1) / 2;
  if (weights > kMaxWeights) {
    reject("prompt: ", tokens, " tokens are too many for a page of a moderate size: ",
           "give a shorter text, or use 'gpt2 inspect'");
  }
  return sizeof(TokenId) * tokens;
}

// Notes when the tokens of a call's texts are written.
RunEvents events_of(const std::shared_ptr<Call>& call) {
  const auto note = [call, last = std::vector<std::optional<Clock::time_point>>()](
                        std::size_t index, const CompletionPiece& piece) mutable {
    if (!piece.token) return true;
    if (index >= last.size()) last.resize(index + 1);
    if (last[index]) {
      call->metrics.note_token(seconds_since(*last[index]));
    } else {
      call->metrics.note_first_token(seconds_since(call->arrival));
    }
    last[index] = Clock::now();
    return true;
  };
  return {.goes_on = [call] { return call->goes_on(); }, .on_piece = note};
}

}  // namespace

bool Call::goes_on() const { return !reply_->is_abandoned(); }

void Call::send(int status, const Json& body) { send(json_answer(status, body)); }

void Call::send(HttpAnswer answer) {
  prepare_end();
  answer.id = id;
  reply_->send(std::move(answer));
}

void Call::begin_stream() {
  reply_->begin_stream({.content_type = "text/event-stream",
                        .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                        .id = id});
}

void Call::write_event(const Json& event) {
  // The type of an event of the responses API is its name, too. It comes first and is plain text.
  constexpr std::string_view kType = R"({"type":")";
  std::string_view name = event.text();
  has_names_ = name.starts_with(kType);
  name = name.substr(kType.size(), name.find('"', kType.size()) - kType.size());
  reply_->write(
      concat(has_names_ ? concat("event: ", name, "\n") : "", "data: ", event.text(), "\n\n"));
}

void Call::write_comment(std::string_view text) { reply_->write(concat(": ", text, "\n\n")); }

void Call::end_stream() {
  prepare_end();
  if (!has_names_) reply_->write("data: [DONE]\n\n");
  reply_->end();
}

void Call::fail(std::exception_ptr error) noexcept {
  try {
    answer_error(std::move(error));
  } catch (...) {
    prepare_end();
    reply_->abandon();
  }
}

void Call::answer_error(std::exception_ptr error) {
  if (reply_->is_abandoned()) return prepare_end();
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    send_error(400, error_json(caught).text());
  } catch (const std::bad_alloc&) {
    send_error(503, kOutOfMemory);
  } catch (const ServerEnds& caught) {
    send_error(503, error_json(caught.what(), "server_error", "overloaded").text());
  } catch (const std::exception& caught) {
    send_error(500, error_json(caught.what(), "server_error").text());
  }
}

void Call::send_error(int status, const std::string& body) {
  if (!reply_->is_stream()) return send({.status = status, .body = body + '\n'});
  prepare_end();
  reply_->write("data: " + body + "\n\n");
  reply_->end();
}

void Call::prepare_end() {
  if (before_end) std::exchange(before_end, nullptr)();
}

std::size_t held_bytes(const Request& request, const ServedModel& model) {
  return std::visit([&](const auto& one) { return bytes_of(one, model); }, request);
}

Job::Job(const RunKind& kind, Request request, ServedModel& model, std::shared_ptr<Call> call)
    : call_(std::move(call)),
      wants_stream_(is_stream(request)),
      run_(make_run(kind, std::move(request),
                    {model.engine,
                     model.scheduler,
                     model.tokenizer,
                     {.id = call_->id,
                      .model = model.name,
                      .created = std::time(nullptr),
                      .fingerprint = model.fingerprint}},
                    events_of(call_))) {}

bool Job::advance() {
  const bool goes_on = run_->advance();
  for (const Json& part : run_->take_parts()) {
    if (!std::exchange(streams_, true)) call_->begin_stream();
    call_->write_event(part);
    last_write_ = Clock::now();
  }
  if (goes_on) return false;
  if (!is_wanted()) {
    give_up();
    return true;
  }
  const RunTokens tokens = run_->tokens();  // throws the error of a text
  call_->metrics.count_tokens(tokens.prompt, tokens.completion);
  if (streams_) {
    call_->end_stream();
    return true;
  }
  const Json answer = run_->json();
  if (answer.is_string()) {
    call_->send({.body = nlohmann::json::parse(answer.text()).get<std::string>(),
                 .content_type = "text/html; charset=utf-8"});
  } else {
    call_->send(200, answer);
  }
  return true;
}

void Job::end_silence() {
  if (!wants_stream_ || Clock::now() - last_write_ < kMaxSilence) return;
  if (!std::exchange(streams_, true)) call_->begin_stream();
  call_->write_comment("waiting");
  last_write_ = Clock::now();
}

}  // namespace gpt2::serve
