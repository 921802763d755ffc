#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/session.h"
#include "model/kv_cache.h"

namespace gpt2 {

/// The state of one sequence. Nothing here is about threads or passes.
struct Session::Impl {
  Impl(const Engine& engine, std::size_t capacity);

  [[nodiscard]] std::size_t room() const noexcept {
    return cache.capacity() - computed - waiting.size();
  }

  /// Throws Error(invalid_argument) unless there is room for the tokens and all are of the
  /// vocabulary.
  void require_fitting(std::span<const TokenId> tokens) const;

  Engine engine;
  KVCache cache;
  std::size_t computed = 0;      ///< tokens whose keys and values are in the cache
  std::vector<TokenId> waiting;  ///< the tokens after those, for the next forward pass
  AlignedBuffer<float> logits;   ///< (vocab_size): what Session::forward returns
};

/// The state of the slice's session. Throws Error(invalid_argument) if it has none.
[[nodiscard]] Session::Impl& session_of(const Slice& slice);

}  // namespace gpt2
