#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpt2/session.h"

namespace gpt2 {

/// Gives a prompt to forward passes piece by piece, so that no pass takes long and each can be the
/// last. If the caller cancels, the session is as it was before.
class PromptReader {
 public:
  using OnPrompt = std::function<bool(std::size_t read, std::size_t total)>;

  /// Everything but the prompt must outlive the reader. The session has the first `known` tokens of
  /// the prompt already. REQUIRES: the others fit the session.
  PromptReader(Session& session, std::vector<TokenId> prompt, const OnPrompt& on_prompt,
               std::size_t known = 0);

  /// The next piece, of up to `max` tokens. There is one piece, empty, if the prompt is empty: the
  /// session's tokens that wait are then what a pass reads. The span lives as long as the reader.
  [[nodiscard]] std::span<const TokenId> next(std::size_t max);

  /// Whether next() has returned the last piece.
  [[nodiscard]] bool finished() const noexcept { return begun_ && read_ == prompt_.size(); }

  /// Calls on_prompt. If that returns false or throws, takes back what was read of the prompt.
  /// Returns what it returns. To be called before each piece, and after the last one was read.
  [[nodiscard]] bool goes_on();

 private:
  void take_back();

  Session& session_;
  const OnPrompt& on_prompt_;
  std::vector<TokenId> prompt_;
  std::vector<TokenId> waiting_;  // in the session, before the prompt
  std::size_t start_;             // the position of the first of these
  std::size_t written_;           // by generate(), before the prompt
  std::size_t read_;
  bool begun_ = false;
};

/// The most tokens of a prompt that one pass should read on this model: few enough for the pass to
/// end within about half a second on a desktop's CPU.
[[nodiscard]] std::size_t prompt_piece(const Model& model);

}  // namespace gpt2
