#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// The part of --help that says how perplexity is measured.
inline constexpr const char* kCostHelp =
    R"(Perplexity is measured in windows as long as the model's context. Each window begins half a
window after the previous one and scores the tokens that the previous one did not reach. So every
token except the first is scored once and, from the second window on, with at least half a window of
text before it. The change is printed with its standard error over the windows, such as +0.05 % +-
0.03 %; for a text that fits in one window, there is no standard error.

)";

/// Adds --text.
Option& add_text_option(Options& options, std::string& file);

/// Returns the tokens of the text in `file`, or of default_text.txt if `file` is "". Returns no
/// tokens if there is no tokenizer. Throws Error if the file cannot be read, if its text has fewer
/// than two tokens, or if, without a tokenizer, the text is empty.
[[nodiscard]] std::vector<TokenId> tokens_to_measure(const std::string& file,
                                                     const std::optional<Tokenizer>& tokenizer);

/// Measures the effect of converting a model's weights to another type. Returns these keys:
///   bytes                      bytes of weights that are read for each token, before and after
///   tokens                     the number of tokens scored, or 0 if perplexity is not measured
///   windows                    the number of windows in which they are scored; see
///                              compare_perplexity()
///   perplexity                 before and after
///   perplexity_change_percent
///   standard_error_percent     of that change, over the windows; null for a single window
///   max_logit_change
///   kv                         the part of the change that is due to f16 keys and values: the same
///                              perplexities, change and error for the converted weights, with f32
///                              and with f16 keys and values; absent if `after` uses f32 ones by
///                              default
/// Perplexity is not measured if there are no tokens, or if one of them is not in the model's
/// vocabulary. In that case the keys after "tokens" are absent.
///
/// Throws Error if a perplexity is infinite or NaN, which means that the weights are damaged, and
/// what compare_perplexity() throws.
[[nodiscard]] Json quantization_cost(const Model& before, const Model& after,
                                     std::span<const TokenId> tokens);

/// Formats the cost as lines of text.
[[nodiscard]] std::string cost_in_words(const Json& cost);

}  // namespace gpt2::cli
