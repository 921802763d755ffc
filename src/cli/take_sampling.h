#pragma once

#include <functional>
#include <string>

#include "gpt2/sampling_options.h"

namespace gpt2::cli {

/// Copies those options that GenerationConfig reads and that takes(name) returns true for, which
/// gets HuggingFace's name of each option ("top_k").
void take_sampling(SamplingOptions& to, const SamplingOptions& from,
                   const std::function<bool(const std::string& name)>& takes);

}  // namespace gpt2::cli
