#include "generate/text_sink.h"

#include <optional>
#include <string>
#include <utility>

#include "base/fail.h"

namespace gpt2 {

TextSink::TextSink(const Tokenizer& tokenizer, const GenerationOptions& options, Sink sink)
    : tokenizer_(tokenizer), filter_(options.stop), sink_(std::move(sink)) {}

bool TextSink::write(TokenId token) {
  const std::string_view bytes = tokenizer_.is_special(token) ? "" : tokenizer_.bytes(token);
  const std::string_view text = characters_.write(filter_.write(bytes));
  cancelled_ = sink_ && !sink_(text);
  return !cancelled_ && !filter_.stopped();
}

void TextSink::finish(GenerationResult& result) {
  if (cancelled_) return;
  if (filter_.stopped()) result.finish_reason = FinishReason::stop_string;
  std::string rest(characters_.write(filter_.flush()));
  rest += characters_.flush();
  if (sink_ && !rest.empty()) sink_(rest);
}

GenerationOptions options_with(const Tokenizer& tokenizer, const GenerationOptions& given) {
  GenerationOptions options = given;
  const std::optional<TokenId> end_of_text = tokenizer.end_of_text();
  if (end_of_text && !options.ignore_eos) options.stop_tokens.push_back(*end_of_text);
  return options;
}

void require_no_stop_strings(const GenerationOptions& options) {
  if (!options.stop.empty()) reject("stop strings need a tokenizer: give stop_tokens");
}

}  // namespace gpt2
