#pragma once

#include <cstddef>
#include <list>
#include <span>

#include "gpt2/session.h"

namespace gpt2 {

/// How many tokens the two have in common from their beginning.
[[nodiscard]] std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b);

/// Sessions of texts that have ended, for new texts that begin like one of them. Keeps up to 64;
/// the least recently used one goes first.
class PrefixCache {
 public:
  /// Adds a session of this model. Its tokens that wait and the session of its draft are forgotten.
  /// If there is no memory for that, frees the session.
  void add(Session session) noexcept;

  /// The session that has most tokens in common with `prompt`, or nullptr if none has any. It now
  /// counts as used.
  [[nodiscard]] const Session* find(std::span<const TokenId> prompt);

  /// Frees sessions until the others take at most this many bytes.
  void shrink(std::size_t max_bytes) noexcept;

 private:
  std::list<Session> sessions_;  // the least recently used one first
};

}  // namespace gpt2
