#pragma once

#include "gpt2/model.h"

namespace gpt2 {

/// A model of random weights in memory, of a config as Config::parse gives it, for measuring: speed
/// does not depend on the values. Element i of the t-th tensor is a hash of (t, i), uniform with
/// GPT-2's initial deviation of 0.02; tools/make_random_model.py writes it as a HuggingFace model.
[[nodiscard]] Model random_model(const Config& config, const LoadOptions& options);

}  // namespace gpt2
