#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// The text of a file, or for "" a short story of the engine's own, as tokens; none without a
/// tokenizer. Throws Error where it has less than two, or is empty.
[[nodiscard]] std::vector<TokenId> tokens_to_measure(const std::string& file,
                                                     const std::optional<Tokenizer>& tokenizer);

/// What packing a model's weights costs: "bytes" of weights read for each token, before and after,
/// and, where there are tokens and the model knows them all, how many "tokens" of them it is on
/// which the two differ in "perplexity" and by "largest_logit_change". Throws Error where a
/// perplexity is no number: the weights are damaged.
[[nodiscard]] Json quantization_cost(const Model& before, const Model& after,
                                     std::span<const TokenId> tokens);

/// Lines that tell it.
[[nodiscard]] std::string cost_in_words(const Json& cost);

}  // namespace gpt2::cli
