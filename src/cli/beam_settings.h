#pragma once

#include "cli/args.h"
#include "cli/generate_settings.h"
#include "gpt2/beam_search.h"

namespace gpt2::cli {

/// Adds the options of beam search as a separate group.
void add_beam_options(CLI::App& app, BeamOptions& beams);

/// Sets the options that were not given to those of the model's generation config.
void take_beam_defaults(const CLI::App& app, BeamOptions& beams, const BeamOptions& config);

/// Throws UsageError for options that contradict beam search or one another, or that do nothing
/// without it. REQUIRES: all options have been read.
void check_beams(const CLI::App& app, const GenerateSettings& settings);

}  // namespace gpt2::cli
