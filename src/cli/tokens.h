#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpt2/tokenizer.h"

// Texts and the token ids that stand for them.

namespace gpt2::cli {

/// Returns the token ids of a text. If the vocabulary has no tokens for some bytes of the text,
/// prints a note on standard error that says how many.
[[nodiscard]] std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                                          const EncodeOptions& options = {});

/// If the vocabulary has no tokens for `lost` of a text's bytes, prints a note on standard error.
void note_lost_bytes(std::size_t lost, std::size_t bytes);

/// Formats token ids as text that parse_tokens() reads: "15496 995".
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

}  // namespace gpt2::cli
