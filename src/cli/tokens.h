#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/tokenizer.h"

// Texts and the token ids that stand for them.

namespace gpt2::cli {

/// Returns the token ids of a text. If the vocabulary has no tokens for some bytes of the text,
/// prints a note on standard error that says how many.
[[nodiscard]] std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                                          const EncodeOptions& options = {});

/// If the vocabulary has no tokens for `lost` of a text's bytes, prints a note on standard error.
void note_lost_bytes(std::size_t lost, std::size_t bytes);

/// Parses token ids that are separated by white space or commas. Throws Error for a word that is
/// not a number from 0 to count - 1; `before` is the number of ids before this text.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string text, std::size_t count,
                                                std::size_t before = 0);

/// Formats token ids as text that parse_tokens() reads: "15496 995".
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

/// Returns the token that stands for an empty prompt. Throws Error if the model has none.
[[nodiscard]] TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config);

/// Handles a prompt that is longer than the context. With `truncate`, removes tokens from its
/// beginning, so that there is room for max_new_tokens or, if the context is not larger than that,
/// for one token. Without `truncate`, throws Error. Returns how many tokens were removed.
std::size_t fit_context(std::vector<TokenId>& tokens, bool truncate, std::size_t max_new_tokens,
                        std::size_t n_positions);

}  // namespace gpt2::cli
