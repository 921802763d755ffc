#pragma once

#include "gpt2/model.h"

namespace gpt2 {

/// Makes a model with random weights, to measure speed. Element i of the t-th tensor is a hash of
/// (t, i), uniformly distributed with GPT-2's initial standard deviation of 0.02. REQUIRES:
/// `config` satisfies the checks of Config::parse.
[[nodiscard]] Model random_model(const Config& config, const LoadOptions& options);

}  // namespace gpt2
