#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// What perplexity is measured on unless the user names a file: short stories for children, written
/// for this engine. They are stories because the bundled model can read nothing else; larger models
/// read them as well.
extern const std::string_view kDefaultText;

/// For --help: how it is measured.
inline constexpr const char* kCostHelp =
    R"(Perplexity is measured in windows of as many tokens as the model has positions. Each window begins
half a window after the one before and scores the tokens that the one before did not reach. So every
token but the first is scored once, and from the second window on with at least half a window of text
before it. The change is printed with its standard error over the windows, as +0.05 % +- 0.03 %; a text
that fits in one window has none.

)";

/// The text of a file, or for "" the default text, as tokens; none if there is no tokenizer. Throws
/// Error for a text of fewer than two tokens, and for an empty one.
[[nodiscard]] std::vector<TokenId> tokens_to_measure(const std::string& file,
                                                     const std::optional<Tokenizer>& tokenizer);

/// What packing a model's weights costs:
///   bytes                     of weights read for each token, before and after
///   tokens                    scored; 0 if perplexity is not measured, because there are no tokens
///                             or the model lacks one of them, and then the rest is absent
///   windows                   in which they were scored; compare() says how they are cut
///   perplexity                before and after
///   perplexity_change_percent
///   standard_error_percent    of that change, over windows; null for a single window
///   largest_logit_change
/// Throws Error if a perplexity is infinite or NaN: the weights are damaged.
[[nodiscard]] Json quantization_cost(const Model& before, const Model& after,
                                     std::span<const TokenId> tokens);

/// The same in lines of text.
[[nodiscard]] std::string cost_in_words(const Json& cost);

}  // namespace gpt2::cli
