#include "generate/writing/text_sink.h"

#include <algorithm>
#include <string_view>

#include "base/fail.h"

namespace gpt2 {

TextSink::TextSink(const TextTarget& target, const std::vector<std::string>& stop)
    : target_(target), filter_(stop) {}

bool TextSink::write(TokenId token, const TokenLogprob* logprob) {
  if (logprob != nullptr && target_.on_logprob) target_.on_logprob(token, *logprob);
  if (!target_.tokenizer) return !target_.on_token || target_.on_token(token);
  const Tokenizer& tokenizer = *target_.tokenizer;
  const std::string_view bytes = tokenizer.is_special(token) ? "" : tokenizer.bytes(token);
  const std::string_view text = characters_.write(filter_.write(bytes));
  // Even if on_token_of_text ends the text here, the text of this token belongs to it.
  const bool ends = target_.on_token_of_text && !target_.on_token_of_text(token);
  cancelled_ = (target_.on_text && !target_.on_text(text)) || ends;
  return !cancelled_ && !filter_.stopped();
}

void TextSink::finish(GenerationResult& result) {
  if (cancelled_) return;
  if (filter_.stopped()) result.finish_reason = FinishReason::stop_string;
  std::string rest(characters_.write(filter_.flush()));
  rest += characters_.flush();
  if (target_.on_text && !rest.empty()) target_.on_text(rest);
}

void check_target(const TextTarget& target, const GenerationOptions& options,
                  const Config& config) {
  if (target.tokenizer) target.tokenizer->require_match(config);
  if (!target.tokenizer && !options.stop.empty()) {
    reject("stop strings need a tokenizer: give stop_tokens");
  }
  if (std::ranges::count(options.stop, "") != 0) {
    reject("a stop string is empty, so that every text would end at once: leave it out");
  }
}

}  // namespace gpt2
