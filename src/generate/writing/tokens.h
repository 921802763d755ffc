#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fail.h"
#include "base/text.h"
#include "gpt2/config.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// Throws Error(invalid_argument) if a token is outside the model's vocabulary. The message begins
/// with `where`, which names the text that the tokens belong to, and says what the token is to the
/// tokenizer: files often have special tokens for which the model was never resized.
inline void check_tokens(std::span<const TokenId> tokens, std::size_t vocab_size,
                         const std::string& where,
                         const std::optional<Tokenizer>& tokenizer = std::nullopt) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && static_cast<std::size_t>(tokens[i]) < vocab_size) continue;
    std::string known;
    if (tokenizer && !tokenizer->bytes(tokens[i]).empty()) {
      known = ", which is " + quote(tokenizer->bytes(tokens[i])) + " in the tokenizer's files";
      for (const auto& file : tokenizer->files()) known += ' ' + file.filename().string();
    }
    reject(where, ", token ", i + 1, ": expected an id from 0 to ", vocab_size - 1, ", got ",
           tokens[i], known);
  }
}

/// Returns the tokens that end a text: those of the model, then options.stop_tokens, then the
/// tokenizer's end-of-text token. options.ignore_eos leaves out the first and the last of these.
/// `Options` has the members ignore_eos and stop_tokens (see GenerationOptions).
template <class Options>
[[nodiscard]] std::vector<TokenId> end_tokens(const Config& config,
                                              const std::optional<Tokenizer>& tokenizer,
                                              const Options& options) {
  std::vector<TokenId> ids;
  if (!options.ignore_eos) ids = config.eos_token_id;
  ids.insert(ids.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  const auto end_of_text = tokenizer ? tokenizer->end_of_text() : std::nullopt;
  if (end_of_text && !options.ignore_eos) ids.push_back(*end_of_text);
  return ids;
}

[[nodiscard]] inline std::size_t common_prefix(std::span<const TokenId> a,
                                               std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace gpt2
