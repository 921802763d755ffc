#pragma once

#include "cli/args.h"

namespace gpt2::cli {

/// The commands. Each takes the arguments that follow its name, writes its answer to standard
/// output and returns the exit status. Throws what parse() throws if the arguments are invalid, and
/// Error if anything else fails. `generate` calls `check` with its PROMPT, unless a -- precedes the
/// PROMPT.
int generate(Arguments arguments, void (*check)(const std::string& prompt) = nullptr);
int batch(Arguments arguments);
int tokenize(Arguments arguments);
int info(Arguments arguments);
int bench(Arguments arguments);
int quantize(Arguments arguments);
int score(Arguments arguments);
int embed(Arguments arguments);

}  // namespace gpt2::cli
