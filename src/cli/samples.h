#pragma once

#include <optional>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "gpt2/engine.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// Generates settings.samples texts that continue the same prompt, in shared passes; with --stats,
/// also prints times. Text i is the same as the text generated alone with SamplingOptions::sequence
/// increased by i. Writes the texts to standard output in order: the output of a text is held back
/// until the texts before it have ended.
void write_samples(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                   const GenerateSettings& settings, const Prompt& prompt,
                   GenerationOptions options);

}  // namespace gpt2::cli
