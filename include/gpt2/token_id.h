#pragma once

#include <cstdint>

namespace [[gnu::visibility("default")]] gpt2 {

/// A token's number: an index into the vocabulary, from 0 to vocab_size - 1.
///
/// The type is signed, as in most programs that handle ids. Functions that take ids from a caller
/// refuse negative ones and those outside the vocabulary.
///
/// Example:
///   const TokenId end_of_text = 50256;  // in GPT-2's own vocabulary
using TokenId = std::int32_t;

}  // namespace gpt2
