#include "cli/text_writer.h"

#include <utility>

#include "cli/console.h"

namespace gpt2::cli {

TextWriter::TextWriter(std::string prompt, bool end_line)
    : waiting_(std::move(prompt)), is_empty_(waiting_.empty()), end_line_(end_line) {}

void TextWriter::write(std::string_view piece) {
  waiting_ += piece;
  if (!waiting_.empty()) last_ = waiting_.back();
  write_stdout(std::exchange(waiting_, ""));
}

void TextWriter::write(TokenId token) {
  write((std::exchange(is_empty_, false) ? "" : " ") + std::to_string(token));
}

void TextWriter::end() {
  write("");
  if (end_line_ && last_ != '\n') write_stdout("\n");
}

}  // namespace gpt2::cli
