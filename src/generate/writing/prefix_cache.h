#pragma once

#include <cstddef>
#include <list>
#include <span>

#include "gpt2/session.h"

namespace gpt2 {

/// Returns the length of the longest common prefix of a and b.
[[nodiscard]] std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b);

/// Sessions of texts that have ended. A new text that begins with the same tokens as one of them
/// need not compute these tokens again. Keeps up to 64 sessions and evicts the least recently used
/// one.
class PrefixCache {
 public:
  /// Adds a session, without its waiting tokens and without the session of its draft. Frees the
  /// session instead if there is not enough memory, or if it has slid, because it then takes more
  /// memory than shrink() computes from its position. REQUIRES: all sessions in the cache are of
  /// the same model.
  void add(Session session) noexcept;

  /// Returns the session that has the longest common prefix with `prompt`, or nullptr if no session
  /// has a common prefix, and marks it as the most recently used one.
  [[nodiscard]] const Session* find(std::span<const TokenId> prompt);

  /// Frees the least recently used sessions until the others take at most this many bytes.
  void shrink(std::size_t max_bytes) noexcept;

 private:
  std::list<Session> sessions_;  // the least recently used one first
};

}  // namespace gpt2
