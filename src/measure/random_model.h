#pragma once

#include "gpt2/model.h"

namespace gpt2 {

/// Makes a model of random weights in memory, for measuring: speed does not depend on the values.
/// Element i of the t-th tensor is a hash of (t, i), uniformly distributed with GPT-2's initial
/// standard deviation of 0.02. tools/make_random_model.py writes the same model as files. REQUIRES:
/// a config as Config::parse returns it.
[[nodiscard]] Model random_model(const Config& config, const LoadOptions& options);

}  // namespace gpt2
