#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/generate/prompt.h"
#include "cli/generate/settings.h"
#include "cli/generate/texts.h"
#include "cli/terminal/console.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Writes one plain text to standard output as it is generated.
class TextWriter {
 public:
  /// Keeps a reference to the settings. Writes nothing yet, so that nothing is written if the model
  /// refuses the prompt. If there are several texts, a line such as "--- 1 of 5" precedes each of
  /// them. Token ids are for programs: each text is a line of ids, without lines between them.
  TextWriter(const GenerateSettings& settings, const Prompt& prompt, std::size_t index = 0,
             std::size_t count = 1);

  /// From now on, holds back the output until the text ends or show() is called. Call this function
  /// while another text is being written to standard output.
  void hold() { is_held_ = true; }

  /// Writes the output that was held back. From now on, writes each piece at once.
  void show();

  /// Adds a piece to the continuation.
  void write(std::string_view piece);

  /// The same for a text of token ids.
  void write(TokenId token);

  /// Ends the text. A text that was cancelled before its first token stays unwritten, because the
  /// prompt alone would look like a text. It stays unwritten, too, if --save-state with --no-echo
  /// and no new tokens asks for a state alone. REQUIRES: nothing is written afterwards.
  void end(const GenerationResult& result);

 private:
  const GenerateSettings& settings_;
  std::string waiting_;  // output that has not been written to standard output
  char last_ = '\0';     // the last character that was written there
  bool is_empty_;
  bool is_held_ = false;
};

/// Shows the number of tokens that are written, unless the text itself is seen as it is written.
class TokenProgress {
 public:
  explicit TokenProgress(const GenerateSettings& settings);
  void add() { ++tokens_; }
  void show();
  void done() { progress_.reset(); }

 private:
  bool is_shown_;
  std::size_t tokens_ = 0;
  std::optional<Progress> progress_;
};

/// Prints the lines of --stats on standard error. `session` is the session of the text; it had
/// `before` tokens before the generation.
void print_stats(const GenerationResult& result, const Session& session, std::size_t before);

/// Prints the lines of --stats for several texts, which have this name, such as "samples".
void print_stats(const char* name, std::size_t texts, const WrittenTexts& written);

}  // namespace gpt2::cli
