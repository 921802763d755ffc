#include "gpt2/generate.h"

#include <optional>
#include <utility>

#include "generate/generation.h"
#include "generate/speculation.h"
#include "generate/text_sink.h"

namespace gpt2 {
namespace {

GenerationResult run(Session& session, std::span<const TokenId> prompt,
                     const GenerationOptions& options, const std::function<bool(TokenId)>& sink) {
  Generation generation(session, prompt, options, sink);
  Decoder* const decoder = &generation.decoder();
  Engine engine = session.engine();
  Speculation speculation;
  const auto call = [](std::size_t, const auto& step) {
    step();
    return true;
  };
  const std::size_t max_rows = prompt_piece(session.model());
  while (!generation.finished()) {
    if (!generation.reads_prompt()) speculation.draft({&decoder, 1}, call);
    const std::optional<Slice> slice = generation.next(max_rows);
    if (!slice) break;
    speculation.forward(engine, {&*slice, 1});
    generation.take();
    speculation.count(*decoder);
    speculation.note_pass();
  }
  return std::move(generation.result());
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
                          std::span<const TokenId> prompt, const GenerationOptions& options,
                          const std::function<bool(std::string_view)>& sink) {
  tokenizer.require_match(session.model().config());
  TextSink text(tokenizer, options, sink);
  GenerationResult result = run(session, prompt, options_with(tokenizer, options),
                                [&](TokenId token) { return text.write(token); });
  text.finish(result);
  return result;
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink) {
  require_no_stop_strings(options);
  return run(session, prompt, options, sink);
}

}  // namespace gpt2
