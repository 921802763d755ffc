#include "serve/request_limits.h"

#include <algorithm>
#include <cstddef>

#include "base/fail.h"
#include "gpt2/session.h"

namespace gpt2::serve {
namespace {

constexpr std::size_t kMaxTexts = 2048;
constexpr std::size_t kMaxStops = 256;                 // each is sought in the text at each token
constexpr std::size_t kMaxOptionBytes = 64 << 20;      // of all texts
constexpr std::size_t kMaxAnswerLogprobs = 2'000'000;  // those of other tokens included
constexpr std::size_t kTextBytes = 4096;               // that a text holds, without its lists
constexpr std::size_t kLogprobBytes = 16;              // of a log-probability and its token

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
    const std::size_t room = slides ? kMaxAnswerLogprobs : n_positions - prompt.tokens.size() + 1;
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

}  // namespace

void check_limits(const CompletionRequest& request, const ServedModel& model) {
  const std::size_t texts = request.prompts.size() * request.best_of;
  if (texts > kMaxTexts) {
    reject("the request is for ", texts, " texts, but one request may have at most ", kMaxTexts,
           ": divide it");
  }
  const std::size_t stops = request.options.stop.size() - request.own_stops;
  if (stops > kMaxStops) {
    reject("stop: expected at most ", kMaxStops, " strings, found ", stops);
  }
  const std::size_t bytes = option_bytes(request.options);
  if (bytes > kMaxOptionBytes / texts) {
    reject("the request is for ", texts, " texts with ", bytes,
           " bytes of stop strings and lists of tokens each, but may have at most ",
           kMaxOptionBytes, " bytes in all: divide it");
  }
  const std::size_t count = logprobs_of(request, model.config.n_positions);
  if (count > kMaxAnswerLogprobs) {
    reject("the answer may have ", count, " log-probabilities, but at most ", kMaxAnswerLogprobs,
           " are allowed: divide the request, or ask for fewer logprobs or max_tokens");
  }
  if (request.beams.num_beams == 1) return;
  if (const std::size_t needed = beam_bytes(request, model); needed > model.beam_memory) {
    reject("num_beams: ", request.beams.num_beams, " beams need ", needed,
           " bytes for keys, values and logits, but the server has ", model.beam_memory,
           ": give fewer beams or a smaller max_tokens");
  }
}

std::size_t held_bytes(const CompletionRequest& request, const ServedModel& model) {
  const std::size_t one = kTextBytes + option_bytes(request.options);
  std::size_t bytes = kLogprobBytes * logprobs_of(request, model.config.n_positions);
  for (const CompletionPrompt& prompt : request.prompts) {
    bytes += request.best_of * (one + sizeof(TokenId) * prompt.tokens.size());
  }
  return bytes;
}

std::size_t held_bytes(const EmbeddingRequest& request) {
  std::size_t tokens = 0;
  for (const auto& input : request.inputs) tokens += input.size();
  return sizeof(TokenId) * tokens;
}

}  // namespace gpt2::serve
