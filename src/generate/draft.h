#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"

namespace gpt2 {

/// Drafts the next tokens of a session with a copy of its model, usually a quantized one.
///
/// The copy reads the keys and values of the session, which are exact, and writes those of the
/// drafted tokens after them, where the pass that checks the draft overwrites them. So a draft
/// needs no cache of its own and never has to read the prompt. It draws with the sampler of the
/// text: the noise belongs to the position, so that a draft with nearly the same logits draws the
/// same token.
class Draft {
 public:
  /// Throws Error(invalid_argument) unless the copy has the sizes of the session's model.
  Draft(const Model& copy, const Session& session);

  /// Drafts up to `max` tokens and returns them. Leaves the session as it was. Returns fewer tokens
  /// if the sampler cannot choose one, because the copy's logits contain NaN or +infinity, or
  /// because a processor of the caller's throws a std::exception. What else it throws passes
  /// through. The span lives until the next call.
  ///
  /// REQUIRES: exactly one token waits in the session; it has room for `max` more.
  [[nodiscard]] std::span<const TokenId> propose(Session& session, Sampler& sampler,
                                                 std::size_t max);

 private:
  Model copy_;
  std::vector<float> logits_;    // (vocab_size)
  std::vector<TokenId> tokens_;  // the latest proposal
};

}  // namespace gpt2
