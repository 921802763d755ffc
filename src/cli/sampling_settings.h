#pragma once

#include <cstddef>

#include "cli/args.h"
#include "cli/generate_settings.h"

namespace gpt2::cli {

/// The max of options that count tokens.
inline constexpr std::size_t kMaxTokens = 1'000'000'000;

/// Adds the options that say how the next token is chosen, and when a text ends, in groups of their
/// own: what GenerationOptions and SamplingOptions have. `settings` receives the values. `greedy`
/// is for the caller to apply when all options are read.
void add_sampling_options(CLI::App& app, GenerateSettings& settings, bool& greedy);

}  // namespace gpt2::cli
