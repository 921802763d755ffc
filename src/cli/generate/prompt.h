#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/generate/settings.h"
#include "gpt2/config.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// The text to continue.
struct Prompt {
  std::vector<TokenId> tokens;  ///< empty only after a state: otherwise, an empty prompt becomes
                                ///< the end-of-text token
  std::string text;             ///< the whole prompt as it was given; without a tokenizer, its ids
};

/// Returns the prompt that the arguments give, in full or as a file; if they give none, reads
/// standard input, unless that is a terminal. A file loses one newline at its end. Without a
/// tokenizer, the prompt consists of token ids. Throws Error if the prompt cannot be read, has
/// words that are not token ids, or is longer than the model's context. With --truncate, however,
/// removes tokens from the beginning of a prompt that is too long, and prints a note about it on
/// standard error. `before` is the number of tokens in the session of --state, which the prompt
/// follows.
[[nodiscard]] Prompt read_prompt(const GenerateSettings& settings,
                                 const std::optional<Tokenizer>& tokenizer, const Config& config,
                                 std::size_t before);

/// Returns the prompt that the arguments give, in full or as a file, for an interactive session,
/// which reads standard input itself. Returns nothing if they give none. Throws Error if the file
/// cannot be read.
[[nodiscard]] std::optional<std::string> first_line(const GenerateSettings& settings);

}  // namespace gpt2::cli
