#include "gpt2/generate.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/fail.h"
#include "base/seconds_since.h"
#include "generate/decoder.h"
#include "generate/stop_filter.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

// Tokens of the prompt that one forward pass reads: few enough for it to end within about half a
// second on a desktop's CPU, and no fewer than 128, because shorter passes read weights too often.
std::size_t prompt_piece(const Model& model) {
  constexpr std::size_t kTokensTimesWeights = std::size_t{64} << 30;
  return std::clamp<std::size_t>(kTokensTimesWeights / model.parameter_count(), 128, 512);
}

// Returns the logits after the last token of the prompt, or nothing if on_prompt cancelled it.
std::optional<std::span<const float>> read_prompt(Session& session, std::span<const TokenId> prompt,
                                                  const GenerationOptions& options) {
  const auto tail = session.tokens().last(session.waiting());
  const std::vector<TokenId> waiting(tail.begin(), tail.end());
  const std::size_t start = session.position() - waiting.size();
  const std::size_t piece = prompt_piece(session.model());
  const auto take_back = [&] {
    session.rewind(start);
    session.append(waiting);
  };
  const auto goes_on = [&](std::size_t read) {
    try {
      if (!options.on_prompt || options.on_prompt(read, prompt.size())) return true;
    } catch (...) {
      take_back();
      throw;
    }
    take_back();
    return false;
  };
  std::span<const float> logits;
  std::size_t read = 0;
  do {  // without a prompt, too: then the session's tokens that wait are read
    if (!goes_on(read)) return std::nullopt;
    const std::size_t count = std::min(piece, prompt.size() - read);
    logits = session.forward(prompt.subspan(read, count));
    read += count;
  } while (read < prompt.size());
  if (!goes_on(read)) return std::nullopt;
  return logits;
}

// What the sampling options refer to. Every token that ends the text counts as an end-of-text
// token.
SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens,
                         const GenerationOptions& options) {
  SequenceLimits limits{.eos_token_id = options.stop_tokens,
                        .prompt_length = session.position() + prompt_tokens};
  if (!options.ignore_eos) {
    const std::vector<TokenId>& eos = session.model().config().eos_token_id;
    limits.eos_token_id.insert(limits.eos_token_id.end(), eos.begin(), eos.end());
  }
  // The last token of a text that fills the context has no room in it.
  const std::size_t room = session.capacity() + 1 - limits.prompt_length;
  limits.max_length = limits.prompt_length + std::min(options.max_new_tokens, room);
  return limits;
}

GenerationResult run(Session& session, std::span<const TokenId> prompt,
                     const GenerationOptions& options, const std::function<bool(TokenId)>& sink) {
  if (prompt.empty() && session.waiting() == 0) {
    reject("the prompt has no tokens and no token waits in the session: ",
           session.position() < session.capacity() ? "begin with the end-of-text token"
                                                   : "the session is full");
  }
  session.impl()->require_fitting(prompt);
  Sampler sampler(options.sampling, session.model().config().vocab_size,
                  limits_of(session, prompt.size(), options));
  GenerationResult result{.finish_reason = {}, .tokens = {}, .prompt_tokens = prompt.size()};
  Decoder decoder(session, sampler, options, sink, result);

  auto start = std::chrono::steady_clock::now();
  const auto prompt_logits = read_prompt(session, prompt, options);
  result.prompt_seconds = seconds_since(start);
  if (!prompt_logits) {
    result.finish_reason = FinishReason::cancelled;
    return result;
  }

  start = std::chrono::steady_clock::now();
  result.finish_reason = decoder.run(*prompt_logits);
  result.generation_seconds = seconds_since(start);
  return result;
}

}  // namespace

std::string_view name_of(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::end_of_text: return "end_of_text";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::length: return "length";
    case FinishReason::context_full: return "context_full";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

GenerationResult generate(Session& session, const Tokenizer& tokenizer,
                          std::span<const TokenId> prompt, const GenerationOptions& given,
                          const std::function<bool(std::string_view)>& sink) {
  tokenizer.require_match(session.model().config());
  GenerationOptions options = given;
  const std::optional<TokenId> end_of_text = tokenizer.end_of_text();
  if (end_of_text && !options.ignore_eos) options.stop_tokens.push_back(*end_of_text);
  StopFilter filter(options.stop);
  Utf8Stream characters;
  bool cancelled = false;
  GenerationResult result = run(session, prompt, options, [&](TokenId token) {
    const std::string_view bytes = tokenizer.is_special(token) ? "" : tokenizer.bytes(token);
    const std::string_view text = characters.write(filter.write(bytes));
    cancelled = sink && !sink(text);
    return !cancelled && !filter.stopped();
  });
  if (cancelled) return result;
  if (filter.stopped()) result.finish_reason = FinishReason::stop_string;
  // The text has ended, so that what was held back is certain.
  std::string rest(characters.write(filter.flush()));
  rest += characters.flush();
  if (sink && !rest.empty()) sink(rest);
  return result;
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink) {
  if (!options.stop.empty()) reject("stop strings need a tokenizer: give stop_tokens");
  return run(session, prompt, options, sink);
}

}  // namespace gpt2
