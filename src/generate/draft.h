#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"

namespace gpt2 {

/// Drafts the next tokens of a session with another model of the same vocabulary.
///
/// A copy, usually a quantized one, has all sizes of the session's model. It reads the keys and
/// values of the session, which are exact, and writes those of the drafted tokens after them, where
/// the pass that checks the draft overwrites them. So a copy needs no keys and values of its own
/// and never has to read the prompt.
///
/// A model of other sizes has its own session. Before each draft, this session is rewound to the
/// first token that differs from the text, and then reads the tokens that it lacks. It is stored in
/// the text's session, so that a later text that continues there need not be read from its
/// beginning.
///
/// A draft draws with the sampler of the text. Because the noise depends on the position and not on
/// the logits, a model with nearly the same logits usually draws the same token.
///
/// The caller runs the passes, in which the drafts of many texts may take part:
///
///   draft.begin(max);
///   while (draft.goes_on()) {
///     const Slice slice = draft.next();
///     draft.forward({&slice, 1});
///     draft.take(sampler);
///   }
///   draft.end();
class Draft {
 public:
  /// `text` must outlive the draft. Throws Error(invalid_argument) unless the model has the
  /// vocabulary of the text's model, and std::bad_alloc.
  Draft(const Model& model, Session& text);

  /// Returns the number of bytes that the session of a draft takes when a text of `capacity` tokens
  /// is full; 0 for a copy. `text` is the config of the text's model.
  [[nodiscard]] static std::size_t memory_bytes(const Model& model, const Config& text,
                                                std::size_t capacity) noexcept;

  /// Returns the max number of tokens that can be drafted now: 0 if the text is longer than the
  /// model's context.
  [[nodiscard]] std::size_t room() const noexcept;

  /// Reads the text, except for its last token, in pieces like a prompt. The next draft then has
  /// only the last token to read. Tokens that one of `others` has read are not computed again. Does
  /// nothing for a copy, which has nothing to read. Stops reading if there is not enough memory.
  /// REQUIRES: room() > 0.
  void read_text(std::span<const Draft* const> others);

  /// Begins to draft up to `max` tokens, or none if there is not enough memory.
  ///
  /// REQUIRES: exactly one token waits in the text's session, which has room for `max` more; max is
  /// at most room().
  void begin(std::size_t max);

  /// Whether there are tokens left to draft.
  [[nodiscard]] bool goes_on() const noexcept { return tokens_.size() < max_; }

  /// Ends the draft before there are `max` tokens.
  void give_up() noexcept { max_ = 0; }

  /// Returns the slice that the next pass must compute. REQUIRES: goes_on().
  [[nodiscard]] Slice next();

  /// Whether the two can take part in one pass.
  [[nodiscard]] bool can_join(const Draft& other) const noexcept {
    return model_.transformer() == other.model_.transformer();
  }

  /// Runs a pass of the draft model over slices of this draft and of others that can join it.
  void forward(std::span<const Slice> slices);

  /// After a pass that next() was called for, draws the next token. Otherwise does nothing. Ends
  /// the draft if the sampler cannot choose a token, because the logits contain NaN or +infinity,
  /// or because a processor of the caller's throws a std::exception. Exceptions of other types
  /// reach the caller, after end().
  void take(Sampler& sampler);

  /// Leaves the text's session as it was before begin().
  void end();

  /// The tokens drafted since begin(). The span is valid until the next call of begin().
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

 private:
  [[nodiscard]] bool is_copy() const noexcept { return session_ == &text_; }

  Model model_;
  Session& text_;
  Session* session_;             // the session whose keys and values the model uses
  std::size_t start_ = 0;        // the position of the text's last token
  TokenId last_ = 0;             // the text's last token
  std::size_t max_ = 0;          // the max number of tokens to draft
  bool has_logits_ = false;      // whether a pass has computed logits, or is about to
  std::vector<float> logits_;    // (vocab_size)
  std::vector<TokenId> tokens_;  // drafted so far
};

}  // namespace gpt2
