#pragma once

#include <optional>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "gpt2/engine.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// Searches for the best continuations of the prompt and writes them to standard output, best
/// first. On Ctrl-C, stops and writes the best sequences found so far.
void write_beams(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                 const Prompt& prompt, const GenerateSettings& settings,
                 const GenerationOptions& generation);

}  // namespace gpt2::cli
