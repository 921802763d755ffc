#pragma once

#include <cstddef>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/generate.h"

namespace gpt2 {

/// Drafts the next tokens of a text, which the text's model then checks in one pass. The tokens
/// come from the text so far (prompt lookup), or from another model of the same vocabulary, which
/// may become ready while the text is being written (a pending draft).
///
/// A copy, usually a quantized one, has all sizes of the text's model. It reads the keys and values
/// of the text's session, which are exact, and writes those of the drafted tokens after them, where
/// the pass that checks the draft overwrites them. So a copy needs no keys and values of its own
/// and never has to read the prompt.
///
/// A model of other sizes has its own session. Before each draft, this session is rewound to the
/// first token that differs from the text, and then reads the tokens that it lacks. It is stored in
/// the text's session, so that a later text that continues there need not be read from its
/// beginning.
///
/// A model draws with the sampler of the text. Because the noise depends on the position and not on
/// the logits, a model with nearly the same logits usually draws the same token.
///
/// The caller decides how many tokens to draft, and runs the passes of the model, in which many
/// drafters may take part:
///
///   drafter.look_up(max);
///   drafter.shorten(count);
///   drafter.begin(drafter.max_of_model(), others);
///   while (drafter.goes_on()) {
///     const Slice slice = drafter.next();
///     drafter.forward({&slice, 1});
///     drafter.take(sampler);
///   }
///   drafter.end();
///   ...                               // the pass that checks drafter.tokens()
///   drafter.note_checked(accepted);
class Drafter {
 public:
  /// `text` must outlive the drafter. Throws Error(invalid_argument) if the options of drafts are
  /// invalid or the model does not have the vocabulary of the text's model, and std::bad_alloc.
  Drafter(Session& text, const GenerationOptions& options);

  /// Returns the number of bytes that the session of a draft model takes when a text of `capacity`
  /// tokens is full; 0 for a copy. `text` is the config of the text's model.
  [[nodiscard]] static std::size_t memory_bytes(const Model& model, const Config& text,
                                                std::size_t capacity) noexcept;

  /// Returns whether the options allow drafts.
  [[nodiscard]] bool may_draft() const noexcept {
    return model_ || pending_model_.valid() || looks_up_;
  }

  /// Call this function after a prompt has been read, which the draft model has to read as well.
  void note_prompt() noexcept { has_new_prompt_ = true; }

  /// Begins the draft for the next pass, which may have up to `max` tokens: looks for tokens in the
  /// text so far, if the options allow it. Throws Error if a pending draft has become ready and
  /// does not fit the model.
  void look_up(std::size_t max);

  /// Keeps the first `max` tokens, or all of them with constant_draft.
  void shorten(std::size_t max);

  /// Returns the max number of tokens that the model can draft for the next pass. Returns 0 if
  /// there is no model, if tokens were found in the text, or if the text is longer than the model's
  /// context.
  [[nodiscard]] std::size_t max_of_model() const;

  /// Makes the model ready to draft up to `max` tokens, or with constant_draft as many as it can.
  /// First reads a new prompt, of which it copies what one of `others` has read. Does nothing if
  /// there are no tokens to draft.
  ///
  /// REQUIRES: exactly one token waits in the text's session.
  void begin(std::size_t max, std::span<const Drafter* const> others);

  /// Whether the model has tokens left to draft.
  [[nodiscard]] bool goes_on() const noexcept { return tokens_.size() < max_; }

  /// Returns the slice that the next pass of the model must compute. REQUIRES: goes_on().
  [[nodiscard]] Slice next();

  /// Whether the two have the same model, so that they can take part in one pass of it.
  [[nodiscard]] bool can_join(const Drafter& other) const noexcept;

  /// Runs a pass of the model over slices of this drafter and of others that can join it.
  void forward(std::span<const Slice> slices);

  /// After a pass that next() was called for, draws the next token. Otherwise does nothing. Ends
  /// the draft if the sampler cannot choose a token, because the logits contain NaN or +infinity,
  /// or because a processor of the caller's throws a std::exception. Exceptions of other types
  /// reach the caller, after end().
  void take(Sampler& sampler);

  /// Leaves the text's session as it was before begin(), and keeps the tokens for the next pass.
  void end();

  /// Returns the tokens that were drafted for the next pass.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

  /// Forgets the tokens after the pass that checked them, of which `accepted` were accepted.
  void note_checked(std::size_t accepted) noexcept;

  /// The drafted tokens of the latest pass.
  struct Checked {
    bool by_model = false;  ///< whether the model drafted, possibly no token
    std::size_t tokens = 0;
    std::size_t accepted = 0;
  };
  [[nodiscard]] const Checked& latest() const noexcept { return latest_; }

 private:
  void set_model(const Model& model);
  void take_pending_model();
  void read_text(std::span<const Drafter* const> others);
  [[nodiscard]] bool is_copy() const noexcept { return session_ == &text_; }

  Session& text_;
  std::size_t max_tokens_;
  bool is_constant_;  // constant_draft
  bool looks_up_;     // prompt_lookup
  std::shared_future<Model> pending_model_;

  std::optional<Model> model_;
  Session* session_ = nullptr;   // the session whose keys and values the model uses
  bool has_new_prompt_ = false;  // whether there is a prompt that the model has not read
  std::vector<float> logits_;    // of the model: (vocab_size)

  // The draft for the next pass.
  std::vector<TokenId> tokens_;
  std::size_t max_of_pass_ = 0;  // the max number of tokens that the pass can check
  bool by_model_ = false;        // whether the model has begun to draft
  std::size_t max_ = 0;          // the max number of tokens that the model drafts
  bool has_logits_ = false;      // whether a pass has computed logits, or is about to
  std::size_t start_ = 0;        // the position of the text's last token
  TokenId last_ = 0;             // the text's last token
  Checked latest_;
};

/// Finds the latest earlier occurrence of the last three tokens of `ids` and returns up to `max` of
/// the tokens after it; none if there is no earlier occurrence. The span is a part of `ids`.
///
/// This is prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding). It costs
/// nearly nothing, and is often right if a text repeats names, quotes its prompt, or has the form
/// of a list.
///
/// Cost: at most three comparisons for each token of `ids`.
[[nodiscard]] std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max);

}  // namespace gpt2
