#pragma once

#include <algorithm>
#include <span>

#include "gpt2/types.h"

namespace gpt2 {

/// Returns whether the last id of `sequence` would complete it after `ids`. A sequence of one id is
/// always completed. Like HuggingFace, returns false for a longer sequence that has more ids than
/// the text so far, even if all of its ids but the last match. REQUIRES: sequence is not empty.
inline bool would_complete(std::span<const TokenId> sequence, std::span<const TokenId> ids) {
  if (sequence.size() == 1) return true;
  const auto before = sequence.first(sequence.size() - 1);
  return sequence.size() <= ids.size() && std::ranges::equal(before, ids.last(before.size()));
}

}  // namespace gpt2
