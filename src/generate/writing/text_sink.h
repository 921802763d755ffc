#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpt2/generate.h"

namespace gpt2 {

/// Passes text on up to the first stop string, however the text is divided into tokens. The first
/// one is the one that ends first or, if several end at the same place, the longest of them. Holds
/// back text that may be the beginning of a stop string until more text shows that it is not.
class StopFilter {
 public:
  /// REQUIRES: no stop string is empty.
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds bytes. Returns the text that is now known not to be part of a stop string, without the
  /// bytes that were hidden.
  [[nodiscard]] std::string write(std::string_view bytes, bool is_hidden = false);

  /// Returns the text held back. Call this at the end of a text without a stop string.
  [[nodiscard]] std::string flush();

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  std::string take(std::size_t count);

  std::vector<std::string> stops_;
  std::string held_;
  std::string hidden_;  // for each byte held, whether it is hidden
  bool stopped_ = false;
};

/// Writes the tokens of a text to its target. If the target has a tokenizer, it receives whole
/// UTF-8 characters, without stop strings.
class TextSink {
 public:
  /// `before` are the tokens before the text.
  TextSink(const TextTarget& target, const GenerationOptions& options,
           std::span<const TokenId> before);

  /// Passes the token, or the text that is now certain, to the target, after the token's
  /// log-probability if there is one. Returns false if the text ends here.
  bool write(TokenId token, const TokenLogprob* logprob);

  /// Called when the text has ended: passes the text that was held back to the target, and corrects
  /// the finish reason of the result if a stop string ended the text.
  void finish(GenerationResult& result);

 private:
  TextTarget target_;
  std::optional<Detokenizer> text_;
  bool skip_special_tokens_;
  StopFilter filter_;
  Utf8Stream characters_;
  bool cancelled_ = false;
};

/// Throws Error(invalid_argument) if the tokenizer of the target does not belong to the model, if
/// there are stop strings without a tokenizer, or if one of them is empty.
void check_target(const TextTarget& target, const GenerationOptions& options, const Config& config);

}  // namespace gpt2
