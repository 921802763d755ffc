#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/session.h"
#include "model/kv_cache.h"

namespace gpt2 {

/// The state of one sequence. It does not include any state of threads or passes.
struct Session::Impl {
  Impl(const Engine& engine, std::size_t capacity);

  [[nodiscard]] std::size_t room() const noexcept { return cache.capacity() - tokens.size(); }

  /// Throws Error(invalid_argument) unless there is room for these tokens and all of them are in
  /// the vocabulary.
  void require_fitting(std::span<const TokenId> more) const;

  /// Drops the keys and values of all tokens but the first `count`. The next pass computes those of
  /// the other tokens again. Throws std::bad_alloc, and then changes nothing.
  void keep_computed(std::size_t count);

  Engine engine;
  KVCache cache;
  std::vector<TokenId> tokens;  ///< the tokens of the sequence; memory for all that fit is reserved
  std::size_t computed = 0;     ///< how many of the first tokens have keys and values in the cache
  /// How many of the first tokens have keys and values that depend on the tokens alone. Those of
  /// later tokens may have been changed by an observer.
  std::size_t unchanged = SIZE_MAX;
  TextHistory history = {};
  AlignedBuffer<float> logits;        ///< (vocab_size): the result of Session::forward
  std::optional<Session> draft = {};  ///< the session of the latest smaller draft model
};

/// Returns the state of the slice's session. Throws Error(invalid_argument) if the slice has no
/// session, or if the session was moved from.
[[nodiscard]] Session::Impl& session_of(const Slice& slice);

}  // namespace gpt2
