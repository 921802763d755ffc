#pragma once

#include <functional>
#include <string>

#include "gpt2/sampling_options.h"

namespace gpt2::cli {

/// Copies those of the options that GenerationConfig reads for which takes(name) returns true.
/// `name` is HuggingFace's name of the option ("top_k").
void take_sampling(SamplingOptions& to, const SamplingOptions& from,
                   const std::function<bool(const std::string& name)>& takes);

}  // namespace gpt2::cli
