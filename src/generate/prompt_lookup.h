#pragma once

#include <cstddef>
#include <span>

#include "gpt2/token_id.h"

namespace gpt2 {

/// Drafts what followed the last time that the text had the same last tokens (prompt lookup
/// decoding, https://github.com/apoorvumang/prompt-lookup-decoding). This costs nearly nothing, and
/// is often right where a text repeats names, quotes its prompt, or has the form of a list.
///
/// Returns up to `max` of the tokens that follow the latest earlier place where the last three
/// tokens of `ids` stand; none if there is no such place. The span is a part of `ids`.
///
/// Cost: at most three comparisons for each token of `ids`.
[[nodiscard]] std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max);

}  // namespace gpt2
