#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/generate_settings.h"
#include "gpt2/config.h"
#include "gpt2/sampling_options.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// The text to continue.
struct Prompt {
  std::vector<TokenId> tokens;  ///< empty only after a state: otherwise, an empty prompt becomes
                                ///< the end-of-text token
  std::string text;             ///< the whole prompt as it was given; without a tokenizer, its ids
};

/// Loads the tokenizer. If the model has none, the error message also suggests --tokens.
[[nodiscard]] Tokenizer load_tokenizer(const std::filesystem::path& model);

/// Returns the token that stands for an empty prompt. Throws Error if the model has none.
[[nodiscard]] TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config);

/// Handles a prompt that is longer than the context. With `truncate`, removes tokens from its
/// beginning, so that there is room for max_new_tokens or, if the context is not larger than that,
/// for one token. Without `truncate`, throws Error. Returns how many tokens were removed.
std::size_t fit_context(std::vector<TokenId>& tokens, bool truncate, std::size_t max_new_tokens,
                        std::size_t n_positions);

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

/// Converts the texts of --bad-words to token ids and adds them to the options. Each text is
/// forbidden both as it is and with a space before it, because the first token of a word inside a
/// text includes the space before it. Throws UsageError for a text that the vocabulary cannot
/// spell.
void add_bad_words(SamplingOptions& options, std::span<const std::string> words,
                   const Tokenizer& tokenizer);

}  // namespace gpt2::cli
