#pragma once

#include <cstddef>
#include <span>

#include "gpt2/types.h"

namespace gpt2 {

/// Drafts the tokens that followed the previous occurrence of the last tokens of the text (prompt
/// lookup decoding, https://github.com/apoorvumang/prompt-lookup-decoding). This costs nearly
/// nothing, and is often right if a text repeats names, quotes its prompt, or has the form of a
/// list.
///
/// Finds the latest earlier occurrence of the last three tokens of `ids` and returns up to `max` of
/// the tokens after it; none if there is no earlier occurrence. The span is a part of `ids`.
///
/// Cost: at most three comparisons for each token of `ids`.
[[nodiscard]] std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max);

}  // namespace gpt2
