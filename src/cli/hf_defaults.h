#pragma once

#include "cli/args.h"
#include "cli/generate_settings.h"

namespace gpt2::cli {

/// Sets the options that were not given on the command line to the values that HuggingFace's
/// generate() would use for the model. Throws what GenerationConfig::load() throws, and UsageError
/// if the model's generation config sets a beam search and the command has none. REQUIRES: all
/// options have been read.
void take_hf_defaults(GenerateSettings& settings, const CLI::App& app);

}  // namespace gpt2::cli
