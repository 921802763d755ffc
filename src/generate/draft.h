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
/// A model of other sizes has a session of its own, which it keeps at the tokens of the text: it
/// rewinds to the first token that differs and reads the others. That session belongs to the text's
/// session, so that the next text does not have to read its beginning again.
///
/// A draft draws with the sampler of the text: the noise belongs to the position, so that a draft
/// with nearly the same logits draws the same token.
class Draft {
 public:
  /// `text` must outlive the draft. Throws Error(invalid_argument) unless the model has the
  /// vocabulary of the text's model, and std::bad_alloc.
  Draft(const Model& model, Session& text);

  /// The bytes that the session of a draft takes once a text of `capacity` tokens is full; 0 for a
  /// copy. `text` is the config of the text's model.
  [[nodiscard]] static std::size_t memory_bytes(const Model& model, const Config& text,
                                                std::size_t capacity) noexcept;

  /// The max number of tokens that can be drafted now: 0 if the text is longer than the model's
  /// context.
  [[nodiscard]] std::size_t room() const noexcept;

  /// Reads the text, except for its last token, in passes of the size that prompts are read in. The
  /// next call of propose() then has only the last token to read. Does nothing for a copy, which
  /// has nothing to read. If there is no memory, gives up. REQUIRES: room() > 0.
  void read_text();

  /// Drafts up to `max` tokens and returns them. Leaves the text's session as it was. Returns fewer
  /// tokens if the sampler cannot choose one, because the logits contain NaN or +infinity, because
  /// a processor of the caller's throws a std::exception, or if there is no memory. What else it
  /// throws passes through. The span lives until the next call.
  ///
  /// REQUIRES: exactly one token waits in the text's session, which has room for `max` more; max is
  /// at most room().
  [[nodiscard]] std::span<const TokenId> propose(Sampler& sampler, std::size_t max);

 private:
  [[nodiscard]] bool is_copy() const noexcept { return session_ == &text_; }
  void begin();
  void end();
  [[nodiscard]] Slice next();
  void forward(const Slice& slice);

  Model model_;
  Session& text_;
  Session* session_;             // whose keys and values the model reads and writes
  std::size_t start_ = 0;        // of the text's last token, while a draft is made
  TokenId last_ = 0;             // that token
  std::vector<float> logits_;    // (vocab_size)
  std::vector<TokenId> tokens_;  // the latest proposal
};

}  // namespace gpt2
