#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/generate/prompt.h"
#include "cli/generate/settings.h"
#include "cli/terminal/console.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Writes one text to standard output in the format that the settings ask for. Plain text appears
/// as it is generated; JSON appears when the text ends.
class TextWriter {
 public:
  /// Keeps references to all of these. Writes nothing yet, so that nothing is written if the model
  /// refuses the prompt. `sample` is the index of this text among writing.samples texts, from 0.
  /// If there are several texts, a line such as "--- 1 of 5" precedes each plain text. Token ids
  /// are for programs: each text is a line of ids, without lines between them.
  TextWriter(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
             const Prompt& prompt, std::size_t sample = 0);

  /// From now on, holds back the output until the text ends or show() is called. Call this function
  /// while another text is being written to standard output.
  void hold() { is_held_ = true; }

  /// Writes the output that was held back. From now on, writes each piece at once.
  void show();

  /// Adds a piece to the continuation.
  void write(std::string_view piece);

  /// The same for a text of token ids.
  void write(TokenId token);

  /// Ends the text. A plain text that was cancelled before its first token stays unwritten, because
  /// the prompt alone would look like a text. Plain text stays unwritten, too, if --save-state with
  /// --no-echo and no new tokens asks for a state alone. `score` is the score from a beam search; the
  /// JSON has it in place of the seed. REQUIRES: nothing is written afterwards.
  void end(const GenerationResult& result, std::optional<double> score = std::nullopt);

 private:
  [[nodiscard]] std::string json(const GenerationResult& result, std::optional<double> score) const;

  const GenerateSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const Prompt& prompt_;
  std::size_t sample_;
  std::string waiting_;  // output that has not been written to standard output
  char last_ = '\0';     // the last character that was written there
  bool is_empty_;
  bool is_held_;
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

/// The numbers that --stats prints for several texts from one prompt.
struct StatsOfTexts {
  const char* name;  ///< the kind of texts, such as "samples"
  std::size_t texts = 0;
  std::size_t tokens = 0;         ///< the number of new tokens in all texts
  double seconds = 0.0;           ///< the time for them and the prompt
  std::uint64_t logits_hash = 0;  ///< a hash for all texts in order; 0: there were no logits
};

/// Prints the lines of --stats for several texts.
void print_stats(const StatsOfTexts& stats);

}  // namespace gpt2::cli
