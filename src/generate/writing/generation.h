#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/writing/drafter.h"
#include "generate/writing/prompt_reader.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// What a text does when its session is full (GenerationOptions::overflow): it ends, or the session
/// slides and the text goes on.
class ContextWindow {
 public:
  /// The session must outlive the window.
  ContextWindow(Session& session, const GenerationOptions& options)
      : session_(session), slides_(options.overflow == Overflow::slide), keep_(options.keep) {}

  /// Throws Error(invalid_argument) unless a prompt of this many tokens fits, if need be after a
  /// slide, and a session that may slide for new tokens has room for them. Returns how many tokens
  /// that slide drops. Changes nothing.
  [[nodiscard]] std::size_t require_room(std::size_t prompt_tokens,
                                         std::size_t max_new_tokens) const;

  /// Returns how many new tokens a text of `length` tokens can have.
  [[nodiscard]] std::size_t room_after(std::size_t length) const;

  [[nodiscard]] bool slides() const noexcept { return slides_; }

  /// Makes room for `count` tokens, of which the text has written none yet. The tokens after
  /// limits.prompt_length were written by the text. Updates the limits to the tokens that are left,
  /// and returns how many were dropped. The next pass computes those that are left again.
  std::size_t slide(std::size_t count, SequenceLimits& limits);

 private:
  Session& session_;
  bool slides_;
  std::size_t keep_;
};

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

/// A session that has computed the first `known` tokens of a prompt.
struct Donor {
  const Session* session = nullptr;
  std::size_t known = 0;
  std::span<const TokenLogprob> scores = {};  ///< for on_prompt_logprobs: of known + 1 tokens
};

/// One text that is being written: its prompt is read, and then its tokens are drawn, until it ends
/// for one of the reasons of FinishReason. Passes runs the forward passes, which many texts may
/// share:
///
///   while (!text.finished()) {
///     if (!text.reads_prompt()) ...  // Drafter::draft() for as many tokens as max_draft()
///     if (const auto slice = text.next(max_rows)) {
///       forward({*slice});
///       text.take();
///     }
///   }
///
/// A pass over a text with drafted tokens computes the logits after the waiting token and after
/// each drafted token. Then take() draws a token from the logits of each position in turn, and
/// accepts drafted tokens until one differs from the token drawn. The text is therefore the same
/// with any draft and without one.
///
/// When the text has ended, the session holds exactly the tokens written, and the last one waits,
/// unless a token that ends texts or a full session ended the text. If the target or a processor
/// throws, the session holds exactly the tokens written so far.
class Generation {
 public:
  /// The session must outlive the generation. With a donor, the session must be empty; it then
  /// takes over the donor's tokens, which are fewer than those of the prompt. Throws as generate()
  /// does for invalid arguments, and then changes nothing.
  Generation(Session& session, std::span<const TokenId> prompt, const GenerationOptions& options,
             const TextTarget& target, const Donor& donor = {});
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Returns what drafts tokens for the next pass, and how many tokens that pass can check.
  [[nodiscard]] Drafter& drafter() noexcept { return drafter_; }
  [[nodiscard]] std::size_t max_draft() const;

  /// Returns the slice to compute in the next pass: up to `max_rows` tokens of the prompt, or one
  /// row and the tokens that have been drafted. Returns nothing if the text has been cancelled, by
  /// cancel() or by on_prompt; by on_prompt, it is then finished. Throws whatever on_prompt throws.
  [[nodiscard]] std::optional<Slice> next(std::size_t max_rows);

  /// Draws the first token of take() in advance, after the pass, perhaps on another thread. If many
  /// texts share a pass, this saves time because their tokens can be drawn in parallel. Does
  /// nothing if options.sampling.processors has functions, because these must be called on the
  /// caller's thread.
  void draw_ahead() noexcept;

  /// Continues the text with the results of the pass. Throws whatever the target, on_prompt and the
  /// processors throw.
  void take();

  /// Lets the text end before its next token. Neither the target nor on_prompt is called any more.
  /// May be called at any time, even by a function that the text calls.
  void cancel() noexcept { is_cancelled_ = true; }

  /// Ends the text if it has been cancelled. Returns whether it has finished. Call this between two
  /// passes.
  bool end_if_cancelled() noexcept;

  /// Ends the text with the exception that is being handled.
  void fail() noexcept;

  /// Whether the next pass reads tokens of the prompt, or those that a slide has kept.
  [[nodiscard]] bool reads_prompt() const noexcept { return prompt_.has_value(); }
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  /// The log-probabilities of the prompt's tokens so far, if there is an on_prompt_logprobs.
  [[nodiscard]] std::span<const TokenLogprob> prompt_scores() const { return prompt_scores_; }
  [[nodiscard]] std::vector<TokenLogprob> take_prompt_scores() { return std::move(prompt_scores_); }

  /// Returns the result, or throws the exception with which the text ended. REQUIRES: finished().
  [[nodiscard]] GenerationResult take_result();

 private:
  [[nodiscard]] bool scores_prompt() const;
  void score_prompt();
  bool begin_text();
  std::optional<FinishReason> draw_all();
  TokenId draw(std::span<const float> logits, std::size_t position);
  bool give(TokenId token, std::size_t position, bool is_drafted);
  void settle(std::size_t position, TokenId last);
  void slide(TokenId last);
  // Whether the prompt has been read, so that the text has begun.
  [[nodiscard]] bool has_begun() const { return !prompt_ || !result_.tokens.empty(); }
  void note_written();
  void finish(FinishReason reason);
  [[nodiscard]] std::size_t vocab_size() const { return session_.model().config().vocab_size; }

  Session& session_;
  const GenerationOptions options_;
  ContextWindow window_;
  TextSink sink_;
  GenerationResult result_;
  SequenceLimits limits_;
  Sampler sampler_;
  Drafter drafter_;
  std::optional<PromptReader> prompt_;  // until it has been read; after a slide, it reads the
                                        // tokens that were kept
  std::vector<TokenLogprob> prompt_scores_;
  std::vector<float> logits_;     // of the latest pass: (1 + drafted, vocab_size), or a row
                                  // for each token of a prompt that is scored
  std::optional<TokenId> ahead_;  // the token of the first row, if it is drawn already
  bool is_cancelled_ = false;
  bool finished_ = false;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gpt2
