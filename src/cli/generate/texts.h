#pragma once

#include <optional>

#include "cli/generate/prompt.h"
#include "cli/generate/settings.h"
#include "gpt2/engine.h"
#include "gpt2/tokenizer.h"

// Several texts from one prompt.

namespace gpt2::cli {

/// Generates writing.samples texts that continue the same prompt, in shared passes; with --stats,
/// also prints times. Text i is the same as the text generated alone with SamplingOptions::sequence
/// increased by i. Writes the texts to standard output in order: the output of a text is held back
/// until the texts before it have ended.
void write_samples(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                   const GenerateSettings& settings, const Prompt& prompt,
                   GenerationOptions options);

/// Searches for the best continuations of the prompt and writes them to standard output, best
/// first. On Ctrl-C, stops and writes the best sequences found so far.
void write_beams(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                 const GenerateSettings& settings, const Prompt& prompt,
                 const GenerationOptions& generation);

}  // namespace gpt2::cli
