#pragma once

#include <functional>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "generate/draft.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Writes a text token by token after its prompt, until it ends for one of the reasons of
/// FinishReason. The caller runs the forward passes: next() returns the slice to compute in a pass,
/// and take() draws tokens from its logits.
///
/// Before next(), Speculation may let the text draft tokens. One pass then computes the logits
/// after the waiting token and after each drafted token. Then take() draws a token from the logits
/// of each position in turn, and accepts drafted tokens until one differs from the token drawn. The
/// text is therefore the same with any draft and without one.
class Decoder {
 public:
  /// All arguments must outlive the decoder. The tokens are added to `result`, and `sink` receives
  /// each.
  Decoder(Session& session, Sampler& sampler, const GenerationOptions& options,
          const std::function<bool(TokenId)>& sink, GenerationResult& result);

  /// Returns the buffer (vocab_size) for the logits of the pass over the last piece of the prompt.
  /// Call take() after this pass.
  [[nodiscard]] std::span<float> prompt_logits();

  /// Returns whether the options allow drafts of tokens.
  [[nodiscard]] bool may_draft() const noexcept {
    return draft_ || pending_draft_.valid() || options_.prompt_lookup;
  }

  /// Drafts tokens for the next pass from the text so far, if the options allow it. Throws Error if
  /// a pending draft has become ready and does not fit the model.
  void look_up_draft();

  /// Keeps the first `max` tokens of that draft, or all of them with constant_draft.
  void shorten_draft(std::size_t max);

  /// Returns the max number of tokens that the draft model can draft for the next pass. Returns 0
  /// if there is no draft model, or if tokens have been drafted from the text.
  [[nodiscard]] std::size_t max_of_model() const;

  /// Makes the draft model ready to draft up to `max` tokens, or with constant_draft as many as it
  /// can. If it has not read the prompt yet, it first does so; see Draft::read_text. Does nothing
  /// if there are no tokens to draft.
  void begin_draft(std::size_t max, std::span<const Draft* const> others);

  /// Returns the draft that has begun, if it has more tokens to draft; otherwise nullptr.
  [[nodiscard]] Draft* unfinished_draft() noexcept {
    return latest_.by_model && draft_->goes_on() ? &*draft_ : nullptr;
  }

  /// Draws the next token of the draft after a pass of the draft model. Does nothing if the draft
  /// took no part in the pass.
  void take_draft();

  /// Ends the draft that has begun, if there is one, and keeps its tokens for the next pass.
  void end_draft();

  [[nodiscard]] const Draft* draft() const noexcept { return draft_ ? &*draft_ : nullptr; }

  /// Returns the tokens that were drafted for the next pass.
  [[nodiscard]] std::span<const TokenId> drafted() const noexcept { return drafted_; }

  /// The drafted tokens of the latest pass.
  struct Drafted {
    bool by_model = false;  ///< whether the draft model drafted, possibly no token
    std::size_t tokens = 0;
    std::size_t accepted = 0;
  };
  [[nodiscard]] const Drafted& latest() const noexcept { return latest_; }

  /// Returns the slice to compute in the next pass.
  [[nodiscard]] Slice next();

  /// Draws the first token of the next take() in advance, perhaps on another thread. Does nothing
  /// if options.sampling.processors has functions, because these must be called on the caller's
  /// thread.
  void draw_ahead() noexcept;

  /// Draws tokens from the logits of the pass. If the text has ended, returns the reason; the
  /// session then holds exactly the tokens written, and the last one waits, unless a token that
  /// ends texts or a full session ended the text. If the sink or a processor throws, the session
  /// holds exactly the tokens written so far.
  [[nodiscard]] std::optional<FinishReason> take();

  /// Whether the token that take() drew last is not in the session, because that is full.
  [[nodiscard]] bool lacks_room() const noexcept { return lacks_room_; }

 private:
  std::optional<FinishReason> draw_all();
  void take_pending_draft();
  TokenId draw(std::span<const float> logits, std::size_t position);
  bool give(TokenId token, std::size_t position);
  void settle(std::size_t position, TokenId last);
  [[nodiscard]] std::size_t max_drafted() const;
  [[nodiscard]] bool ends_text(TokenId token) const;

  Session& session_;
  Sampler& sampler_;
  const GenerationOptions& options_;
  const std::function<bool(TokenId)>& sink_;
  GenerationResult& result_;

  std::optional<Draft> draft_;
  std::shared_future<Model> pending_draft_;
  std::vector<TokenId> drafted_;  // appended to the session for the latest pass
  std::vector<float> logits_;     // the logits of that pass: (1 + drafted, vocab_size)
  std::optional<TokenId> ahead_;  // the token of the first row, if it is drawn already
  Drafted latest_;
  bool lacks_room_ = false;
  bool has_new_prompt_ = false;  // whether there is a prompt that the draft model has not read
};

}  // namespace gpt2
