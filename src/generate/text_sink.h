#pragma once

#include <functional>
#include <string_view>

#include "generate/stop_filter.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Turns tokens into the text that a caller's sink receives: whole UTF-8 characters, without stop
/// strings.
class TextSink {
 public:
  using Sink = std::function<bool(std::string_view)>;

  /// The sink may be empty.
  TextSink(const Tokenizer& tokenizer, const GenerationOptions& options, Sink sink);

  /// Gives the sink what is certain now. Returns false if the text ends here.
  bool write(TokenId token);

  /// Gives the sink what was held back, now that the text has ended, and corrects the result's
  /// finish reason.
  void finish(GenerationResult& result);

 private:
  Tokenizer tokenizer_;
  StopFilter filter_;
  Utf8Stream characters_;
  Sink sink_;
  bool cancelled_ = false;
};

/// The options for a generation whose text goes to a TextSink: the tokenizer's end-of-text token
/// ends it, too.
[[nodiscard]] GenerationOptions options_with(const Tokenizer& tokenizer,
                                             const GenerationOptions& options);

/// Throws Error(invalid_argument) if there are stop strings, which need a tokenizer.
void require_no_stop_strings(const GenerationOptions& options);

}  // namespace gpt2
