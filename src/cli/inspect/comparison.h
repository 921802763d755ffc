#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpt2/inspect.h"

namespace gpt2::cli {

/// What a report is compared with: another model, or the same one without changes.
struct Comparison {
  std::string name;  ///< "the model without changes", or the name of the other model
  Inspection found;

  /// [NormIndex][token]: how far the inputs of a LayerNorm are apart: |x - other| / |other|. Empty
  /// if the models do not have the same number of blocks and dimensions.
  std::vector<std::vector<float>> distance;
};

/// Returns these distances. `inputs` and `others` are norm_inputs() of both sides.
[[nodiscard]] std::vector<std::vector<float>> distances(
    const std::vector<std::vector<float>>& inputs, const std::vector<std::vector<float>>& others,
    std::size_t tokens);

/// Returns the mean of -logprob over all tokens but the first, in nats; NaN if there are no others.
[[nodiscard]] double loss_of(const Inspection& found);

}  // namespace gpt2::cli
