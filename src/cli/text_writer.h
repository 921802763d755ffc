#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Writes one text to standard output in the format that the settings ask for. Plain text appears
/// as it is generated; JSON appears when the text ends.
class TextWriter {
 public:
  /// Keeps references to all of these. Writes nothing yet, so that nothing is written if the model
  /// refuses the prompt.
  TextWriter(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
             const Prompt& prompt);

  /// Adds a piece to the continuation.
  void write(std::string_view piece);

  /// The same for a text of token ids.
  void write(TokenId token);

  /// Ends the text. A plain text that was cancelled before its first token stays unwritten, because
  /// the prompt alone would look like a text. REQUIRES: nothing is written afterwards.
  void end(const GenerationResult& result);

 private:
  const GenerateSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const Prompt& prompt_;
  std::string waiting_;  // what has not been written to standard output
  char last_ = '\0';     // the last character that was written there
  bool is_empty_;
};

}  // namespace gpt2::cli
