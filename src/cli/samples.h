#pragma once

#include <optional>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "gpt2/engine.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// Writes settings.samples texts that continue the same prompt, side by side, and with --stats how
/// long that took. Text i is the one that its SamplingOptions::sequence, the first plus i, gives
/// alone. They go to standard output in order; while one is being written, the next ones wait.
void write_samples(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                   const GenerateSettings& settings, const Prompt& prompt,
                   GenerationOptions options);

}  // namespace gpt2::cli
