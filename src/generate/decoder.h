#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <vector>

#include "generate/draft.h"
#include "generate/draft_length.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Writes a text token by token after its prompt, until it ends for one of the reasons of
/// FinishReason. Passes are the caller's: next() says what a pass has to compute, and take() draws
/// tokens from what it computed.
///
/// With a draft, one pass computes the logits after the waiting token and after each drafted token.
/// Then take() draws a token from the logits of each position in turn, and accepts drafted tokens
/// until one differs from the token drawn. The text is therefore the same with any draft and
/// without one.
class Decoder {
 public:
  /// Everything must outlive the decoder. The tokens are added to `result`, and `sink` receives
  /// each.
  Decoder(Session& session, Sampler& sampler, const GenerationOptions& options,
          const std::function<bool(TokenId)>& sink, GenerationResult& result);

  /// Where a pass over the last piece of a prompt puts its logits (vocab_size). take() follows.
  [[nodiscard]] std::span<float> prompt_logits();

  /// What the next pass has to compute. Drafts tokens if `may_draft`.
  [[nodiscard]] Slice next(bool may_draft);

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
  void propose();
  void propose_by_model(std::size_t max);
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
  DraftLength draft_length_, lookup_length_;
  std::vector<TokenId> drafted_;  // appended to the session for the latest pass
  std::vector<float> logits_;     // of that pass: (1 + drafted, vocab_size)
  std::optional<TokenId> ahead_;  // the token of the first row, if it is drawn already
  bool lacks_room_ = false;

  // What to tell DraftLength of the latest pass. A pass that was not allowed to draft tells
  // nothing, because it may have had other sequences in it.
  bool is_timed_ = false;
  DraftLength* drafter_ = nullptr;  // that chose the number of drafted tokens
  double draft_seconds_ = 0.0;
  std::chrono::steady_clock::time_point draft_start_, pass_start_;
  bool has_new_prompt_ = false;  // which the draft model has not read
};

}  // namespace gpt2
