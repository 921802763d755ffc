#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// The text of a file, or for "" a short story of the engine's own. Throws Error where it is empty.
[[nodiscard]] std::string text_to_measure(const std::string& file);

/// What packing a model's weights costs: "bytes" of weights read for each token, before and after,
/// and the "tokens" of `text` (0 without a tokenizer) on which the two differ in "perplexity" and
/// by "largest_logit_change". Throws Error where a perplexity is no number: the weights are
/// damaged.
[[nodiscard]] Json quantization_cost(const Model& before, const Model& after,
                                     const std::optional<Tokenizer>& tokenizer,
                                     std::string_view text);

/// Lines that tell it.
[[nodiscard]] std::string cost_in_words(const Json& cost);

}  // namespace gpt2::cli
