#include "cli/text_writer.h"

#include <utility>

#include "cli/console.h"
#include "cli/text_json.h"

namespace gpt2::cli {

TextWriter::TextWriter(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                       const Prompt& prompt, std::size_t sample)
    : settings_(settings),
      tokenizer_(tokenizer),
      prompt_(prompt),
      sample_(sample),
      waiting_(settings.no_echo || settings.as_json ? "" : prompt.text),
      is_empty_(waiting_.empty()),
      is_held_(settings.as_json) {
  if (settings.as_json || settings.tokens || settings.samples == 1) return;
  waiting_ = format("--- %zu of %zu\n", sample + 1, settings.samples) + waiting_;
}

void TextWriter::show() {
  if (settings_.as_json) return;
  is_held_ = false;
  write("");
}

void TextWriter::write(std::string_view piece) {
  waiting_ += piece;
  if (is_held_) return;
  if (!waiting_.empty()) last_ = waiting_.back();
  write_stdout(std::exchange(waiting_, ""));
}

void TextWriter::write(TokenId token) {
  write((std::exchange(is_empty_, false) ? "" : " ") + std::to_string(token));
}

void TextWriter::end(const GenerationResult& result, std::optional<double> score) {
  if (settings_.as_json) {
    const std::uint64_t sequence = settings_.generation.sampling.sequence + sample_;
    write_stdout(text_json(settings_, tokenizer_, prompt_, sequence, waiting_, result, score));
    return;
  }
  if (result.finish_reason == FinishReason::cancelled && result.tokens.empty()) return;
  is_held_ = false;
  write("");
  if (!settings_.no_newline && last_ != '\n') write_stdout("\n");
}

}  // namespace gpt2::cli
