#pragma once

#include "gpt2/generate.h"

namespace gpt2::cli {

/// Prints the lines of --stats on standard error. `session` is the one that the text was generated
/// in, and was empty before.
void print_stats(const GenerationResult& result, const Session& session);

}  // namespace gpt2::cli
