#pragma once

#include <string>
#include <string_view>

#include "gpt2/token_id.h"

namespace gpt2::cli {

/// Writes one text to standard output as it is generated.
class TextWriter {
 public:
  /// `prompt` is written before the continuation. It is written together with the first piece, so
  /// that nothing is written if the model refuses the prompt. If `end_line`, the output is made to
  /// end with a newline.
  TextWriter(std::string prompt, bool end_line);

  void write(std::string_view piece);

  /// Writes the id, and a space before it unless the id comes first.
  void write(TokenId token);

  /// Ends the text. REQUIRES: nothing is written afterwards.
  void end();

 private:
  std::string waiting_;  // has not been written yet
  char last_ = '\0';     // the last character that was written
  bool is_empty_;
  bool end_line_;
};

}  // namespace gpt2::cli
