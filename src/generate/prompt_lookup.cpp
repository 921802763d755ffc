#include "generate/prompt_lookup.h"

#include <algorithm>

namespace gpt2 {

std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max) {
  // Matches of two tokens are too often accidental, and matches of four are too rare.
  constexpr std::size_t kMatched = 3;
  if (ids.size() <= kMatched) return {};
  const auto last = ids.last(kMatched);
  for (std::size_t begin = ids.size() - kMatched; begin-- > 0;) {
    if (!std::ranges::equal(ids.subspan(begin, kMatched), last)) continue;
    const auto following = ids.subspan(begin + kMatched);
    return following.first(std::min(max, following.size()));
  }
  return {};
}

}  // namespace gpt2
