#pragma once

#include <cstddef>

#include "cli/args.h"
#include "cli/generate_settings.h"

namespace gpt2::cli {

/// The largest value of options that count tokens.
inline constexpr std::size_t kMaxTokens = 1'000'000'000;

/// Adds the options of SamplingOptions and GenerationOptions, which determine how the next token is
/// chosen and when a text ends, in separate groups. `settings` receives the values. The caller must
/// apply `greedy` after all options have been read.
void add_sampling_options(CLI::App& app, GenerateSettings& settings, bool& greedy);

}  // namespace gpt2::cli
