#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "generate/perplexity.h"
#include "gpt2/model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// What packing a model's weights costs.
struct QuantizationCost {
  std::array<std::size_t, 2> bytes = {};  ///< of weights read for each token, before and after
  Comparison comparison = {};             ///< of no tokens where the model has no tokenizer
};

/// The text of a file, or for "" a short story of the engine's own. Throws Error where it is empty.
[[nodiscard]] std::string text_to_measure(const std::string& file);

/// Compares on `text`, if there is a tokenizer. Throws Error where a perplexity is no number: the
/// weights are damaged.
[[nodiscard]] QuantizationCost quantization_cost(const Model& before, const Model& after,
                                                 const std::optional<Tokenizer>& tokenizer,
                                                 std::string_view text);

/// Lines that tell it.
[[nodiscard]] std::string to_string(const QuantizationCost& cost);

}  // namespace gpt2::cli
