#pragma once

#include "gpt2/generate.h"

namespace gpt2::cli {

/// Prints the lines of --stats on standard error. `session` is the one that the text was generated
/// in, and had `before` tokens before that.
void print_stats(const GenerationResult& result, const Session& session, std::size_t before);

/// Prints the lines of --stats for several texts, with `tokens` new tokens in all.
void print_stats_of_samples(std::size_t samples, std::size_t tokens, double seconds);

}  // namespace gpt2::cli
