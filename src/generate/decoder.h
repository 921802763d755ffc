#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "generate/draft.h"
#include "generate/draft_length.h"
#include "gpt2/generate.h"

namespace gpt2 {

/// Writes a text token by token, from the logits after its prompt until it ends for one of the
/// reasons of FinishReason.
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

  /// Afterwards the session holds exactly what was written; the last token waits, unless the text
  /// ended by a token that ends texts. If the sink or a processor throws, the same is true for what
  /// was written until then.
  FinishReason run(std::span<const float> prompt_logits);

 private:
  std::optional<FinishReason> take(std::span<const float> logits);
  std::optional<FinishReason> take_drafts();
  DraftLength& propose();
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
  DraftLength draft_length_, lookup_length_;
  std::vector<TokenId> drafted_;  // appended to the session for the latest pass
  std::vector<float> logits_;     // of that pass: (1 + drafted, vocab_size)
};

}  // namespace gpt2
