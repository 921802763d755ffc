#include "gpt2/generate.h"

#include "generate/writing/passes.h"

namespace gpt2 {

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

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options, const TextTarget& target) {
  check_target(target, options, session.model().config());
  Generation text(session, prompt, options, target);
  Passes passes(session.engine());
  Generation* const texts[] = {&text};
  while (!text.finished()) passes.run(texts);
  return text.take_result();
}

GenerationResult generate(Session& session, const Tokenizer& tokenizer,
                          std::span<const TokenId> prompt, const GenerationOptions& options,
                          const std::function<bool(std::string_view)>& sink) {
  return generate(session, prompt, options, {tokenizer, sink, nullptr});
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink) {
  return generate(session, prompt, options, {std::nullopt, nullptr, sink});
}

}  // namespace gpt2
