#pragma once

#include "cli/args.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Adds --overflow and --keep to the group of options that end a text.
void add_overflow_options(CLI::App& app, GenerationOptions& generation);

}  // namespace gpt2::cli
