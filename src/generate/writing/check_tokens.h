#pragma once

#include <span>
#include <string>

#include "base/fail.h"
#include "gpt2/config.h"

namespace gpt2 {

/// Throws Error(invalid_argument) if a token is outside the vocabulary. The message begins with
/// `where`, which names the text that the tokens belong to.
inline void check_tokens(std::span<const TokenId> tokens, const Config& config,
                         const std::string& where) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && static_cast<std::size_t>(tokens[i]) < config.vocab_size) continue;
    reject(where, ", token ", i + 1, ": expected an id from 0 to ", config.vocab_size - 1, ", got ",
           tokens[i]);
  }
}

}  // namespace gpt2
