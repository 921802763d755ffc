#pragma once

#include <cstddef>

#include "gpt2/generate.h"

namespace gpt2 {

/// What a text does when its session is full (GenerationOptions::overflow): it ends, or the session
/// slides and the text goes on.
class ContextWindow {
 public:
  /// The session must outlive the window.
  ContextWindow(Session& session, const GenerationOptions& options)
      : session_(session), slides_(options.overflow == Overflow::slide), keep_(options.keep) {}

  /// Throws Error(invalid_argument) unless a prompt of this many tokens fits, if need be after a
  /// slide, and a session that may slide for new tokens has room for them. Returns how many tokens
  /// that slide drops. Changes nothing.
  [[nodiscard]] std::size_t require_room(std::size_t prompt_tokens,
                                         std::size_t max_new_tokens) const;

  /// Returns how many new tokens a text of `length` tokens can have.
  [[nodiscard]] std::size_t room_after(std::size_t length) const;

  [[nodiscard]] bool slides() const noexcept { return slides_; }

  /// Makes room for `count` tokens, of which the text has written none yet. The tokens after
  /// limits.prompt_length were written by the text. Updates the limits to the tokens that are left,
  /// and returns how many were dropped. The next pass computes those that are left again.
  std::size_t slide(std::size_t count, SequenceLimits& limits);

 private:
  Session& session_;
  bool slides_;
  std::size_t keep_;
};

}  // namespace gpt2
