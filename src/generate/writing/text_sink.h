#pragma once

#include <string>
#include <vector>

#include "generate/writing/stop_filter.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Writes the tokens of a text to its target. If the target has a tokenizer, it receives whole
/// UTF-8 characters, without stop strings.
class TextSink {
 public:
  TextSink(const TextTarget& target, const std::vector<std::string>& stop);

  /// Passes the token, or the text that is now certain, to the target, after the token's
  /// log-probability if there is one. Returns false if the text ends here.
  bool write(TokenId token, const TokenLogprob* logprob);

  /// Called when the text has ended: passes the text that was held back to the target, and corrects
  /// the finish reason of the result if a stop string ended the text.
  void finish(GenerationResult& result);

 private:
  TextTarget target_;
  StopFilter filter_;
  Utf8Stream characters_;
  bool cancelled_ = false;
};

/// Throws Error(invalid_argument) if the tokenizer of the target does not belong to the model, if
/// there are stop strings without a tokenizer, or if one of them is empty.
void check_target(const TextTarget& target, const GenerationOptions& options, const Config& config);

}  // namespace gpt2
