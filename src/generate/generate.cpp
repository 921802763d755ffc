#include "gpt2/generate.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "generate/stop_filter.h"
#include "gpt2/error.h"

namespace gpt2 {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// From tokens to what a reader sees: no special tokens, no stop string, whole characters.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, const std::vector<std::string>& stop,
             const std::function<bool(std::string_view)>& sink)
      : tokenizer_(tokenizer), filter_(stop), sink_(sink) {}

  // Whether there may be more.
  bool write(TokenId token) {
    const std::string_view bytes = tokenizer_.is_special(token) ? "" : tokenizer_.bytes(token);
    cancelled_ = !sink_(characters_.write(filter_.write(bytes)));
    return !cancelled_ && !filter_.stopped();
  }

  // What was held back, of which nothing can follow any more.
  void finish() {
    if (cancelled_) return;
    std::string text(characters_.write(filter_.flush()));
    text += characters_.flush();
    if (!text.empty()) sink_(text);
  }

  [[nodiscard]] bool stopped() const { return filter_.stopped() && !cancelled_; }

 private:
  const Tokenizer& tokenizer_;
  StopFilter filter_;
  Utf8Stream characters_;
  const std::function<bool(std::string_view)>& sink_;
  bool cancelled_ = false;
};

// `sink` returns false to end the generation.
template <class Sink>
GenerationResult run(Session& session, std::span<const TokenId> prompt,
                     const GenerationOptions& options, const Sink& sink) {
  if (prompt.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "the prompt has no tokens: begin with the end-of-text token");
  }
  Sampler sampler(options.sampling, session.model().config().vocab_size);
  GenerationResult result{
      .finish_reason = FinishReason::max_new_tokens, .tokens = {}, .prompt_tokens = prompt.size()};

  auto start = std::chrono::steady_clock::now();
  std::span<const float> logits = session.forward(prompt);
  result.prompt_seconds = seconds_since(start);

  start = std::chrono::steady_clock::now();
  while (result.tokens.size() < options.max_new_tokens) {
    if (options.hash_logits) result.logits_hash = hash_floats(logits, result.logits_hash);
    const TokenId token = sampler.sample(logits, session.position());
    if (std::find(options.stop_tokens.begin(), options.stop_tokens.end(), token) !=
        options.stop_tokens.end()) {
      result.finish_reason = FinishReason::end_of_text;
      break;
    }
    result.tokens.push_back(token);
    if (!sink(token)) {
      result.finish_reason = FinishReason::cancelled;
      break;
    }
    if (result.tokens.size() == options.max_new_tokens) break;
    if (session.position() == session.capacity()) {
      result.finish_reason = FinishReason::length;
      break;
    }
    logits = session.forward(std::span(&token, 1));
  }
  result.generation_seconds = seconds_since(start);
  return result;
}

}  // namespace

std::string_view name_of(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::end_of_text: return "end_of_text";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::max_new_tokens: return "max_new_tokens";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

GenerationResult generate(Session& session, const Tokenizer& tokenizer,
                          std::span<const TokenId> prompt, const GenerationOptions& options,
                          const std::function<bool(std::string_view)>& sink) {
  TextStream text(tokenizer, options.stop, sink);
  GenerationResult result =
      run(session, prompt, options, [&](TokenId token) { return text.write(token); });
  if (text.stopped()) result.finish_reason = FinishReason::stop_string;
  text.finish();
  return result;
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink) {
  if (!options.stop.empty()) {
    throw Error(ErrorCode::invalid_argument, "stop strings need a tokenizer: give stop_tokens");
  }
  return run(session, prompt, options, sink);
}

}  // namespace gpt2
