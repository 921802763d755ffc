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
/// FinishReason. Passes are the caller's: next() says what a pass has to compute, and take() draws
/// tokens from what it computed.
///
/// Before next(), Speculation may let the text draft tokens. One pass then computes the logits
/// after the waiting token and after each drafted token. Then take() draws a token from the logits
/// of each position in turn, and accepts drafted tokens until one differs from the token drawn. The
/// text is therefore the same with any draft and without one.
class Decoder {
 public:
  /// Everything must outlive the decoder. The tokens are added to `result`, and `sink` receives
  /// each.
  Decoder(Session& session, Sampler& sampler, const GenerationOptions& options,
          const std::function<bool(TokenId)>& sink, GenerationResult& result);

  /// Where a pass over the last piece of a prompt puts its logits (vocab_size). take() follows.
  [[nodiscard]] std::span<float> prompt_logits();

  /// Whether the options allow the text to draft tokens.
  [[nodiscard]] bool may_draft() const noexcept {
    return draft_ || pending_draft_.valid() || options_.prompt_lookup;
  }

  /// Drafts tokens for the next pass from the text so far, if the options say so. Throws what is
  /// wrong with a pending draft that has become ready.
  void look_up_draft();

  /// Keeps the first `max` tokens of that draft, or all with constant_draft.
  void shorten_draft(std::size_t max);

  /// The max number of tokens that the draft model, if there is one, can draft for the next pass. 0
  /// if a draft was found in the text.
  [[nodiscard]] std::size_t max_of_model() const;

  /// Lets the draft model draft up to `max` tokens, or with constant_draft as many as it can. If it
  /// has not read the prompt, it does so first; see Draft::read_text. Does nothing for no token.
  void begin_draft(std::size_t max, std::span<const Draft* const> others);

  /// The draft that was begun, if tokens are left to draft; otherwise nullptr.
  [[nodiscard]] Draft* unfinished_draft() noexcept {
    return latest_.by_model && draft_->goes_on() ? &*draft_ : nullptr;
  }

  /// If the draft has taken part in a pass, draws its next token.
  void take_draft();

  /// Ends the draft that was begun, if one was, and keeps its tokens for the next pass.
  void end_draft();

  [[nodiscard]] const Draft* draft() const noexcept { return draft_ ? &*draft_ : nullptr; }

  /// The tokens that were drafted for the next pass.
  [[nodiscard]] std::span<const TokenId> drafted() const noexcept { return drafted_; }

  /// What came of the drafted tokens of the latest pass.
  struct Drafted {
    bool by_model = false;  ///< whether the draft model drafted, maybe without a token
    std::size_t tokens = 0;
    std::size_t accepted = 0;
  };
  [[nodiscard]] const Drafted& latest() const noexcept { return latest_; }

  /// What the next pass has to compute.
  [[nodiscard]] Slice next();

  /// Draws the first token of take() now, which may be on another thread than take(). Does nothing
  /// if functions of the caller's take part in that, because they belong to the caller's thread.
  void draw_ahead() noexcept;

  /// Draws what it can from the logits of the pass. Returns why the text has ended, if it has; the
  /// session then holds exactly what was written, and the last token waits, unless a token that
  /// ends texts or a full session ended it. If the sink or a processor throws, the same is true for
  /// what was written until then.
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
  std::vector<float> logits_;     // of that pass: (1 + drafted, vocab_size)
  std::optional<TokenId> ahead_;  // the token of the first row, if it is drawn already
  Drafted latest_;
  bool lacks_room_ = false;
  bool has_new_prompt_ = false;  // which the draft model has not read
};

}  // namespace gpt2
