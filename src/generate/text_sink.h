#pragma once

#include <functional>
#include <string_view>

#include "generate/stop_filter.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Turns tokens into text for the sink of a generation: whole UTF-8 characters, without stop
/// strings.
class TextSink {
 public:
  using Sink = std::function<bool(std::string_view)>;

  /// The sink may be empty.
  TextSink(const Tokenizer& tokenizer, const GenerationOptions& options, Sink sink);

  /// Passes the text that is now certain to the sink. Returns false if the text ends here.
  bool write(TokenId token);

  /// Called when the text has ended: passes the text that was held back to the sink, and corrects
  /// the finish reason of the result if a stop string ended the text.
  void finish(GenerationResult& result);

 private:
  Tokenizer tokenizer_;
  StopFilter filter_;
  Utf8Stream characters_;
  Sink sink_;
  bool cancelled_ = false;
};

/// Returns the options for a generation that writes to a TextSink: the given options, with the
/// tokenizer's end-of-text token added to stop_tokens unless ignore_eos is set.
[[nodiscard]] GenerationOptions options_with(const Tokenizer& tokenizer,
                                             const GenerationOptions& options);

/// Throws Error(invalid_argument) if there are stop strings, which need a tokenizer.
void require_no_stop_strings(const GenerationOptions& options);

}  // namespace gpt2
