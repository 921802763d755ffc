#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpt2/session.h"

namespace gpt2 {

/// Divides a prompt into pieces, one for each forward pass, so that no pass takes long and reading
/// can be cancelled between passes. If on_prompt cancels, the session is restored to its state
/// before the prompt.
class PromptReader {
 public:
  using OnPrompt = std::function<bool(std::size_t read, std::size_t total)>;

  /// The session and on_prompt must outlive the reader. The session already has the first `known`
  /// tokens of the prompt. REQUIRES: the session has room for the others.
  PromptReader(Session& session, std::vector<TokenId> prompt, const OnPrompt& on_prompt,
               std::size_t known = 0);

  /// Returns the next piece, of up to `max` tokens. If the prompt is empty, there is one empty
  /// piece, for the pass that reads the session's waiting tokens. The span is valid as long as the
  /// reader lives.
  [[nodiscard]] std::span<const TokenId> next(std::size_t max);

  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return prompt_; }
  [[nodiscard]] bool finished() const noexcept { return begun_ && read_ == prompt_.size(); }

  /// Calls on_prompt and returns its result. If on_prompt returns false or throws, removes the
  /// prompt from the session. Call this function before each piece, and once more after the last
  /// one has been read.
  [[nodiscard]] bool goes_on();

  /// Removes what has been read of the prompt from the session.
  void take_back();

 private:
  Session& session_;
  const OnPrompt& on_prompt_;
  std::vector<TokenId> prompt_;
  std::vector<TokenId> waiting_;  // the tokens that waited in the session before the prompt
  std::size_t start_;             // the position of the first of waiting_
  TextHistory history_;           // before the prompt
  std::size_t read_;
  bool begun_ = false;
};

/// With this many rows, reading the weights takes only a small share of a pass.
inline constexpr std::size_t kEnoughRows = 512;

/// Returns the max number of tokens of a prompt that one pass should read with this model, chosen
/// so that the pass takes at most about half a second on a desktop CPU.
[[nodiscard]] std::size_t prompt_piece(const Model& model);

}  // namespace gpt2
