#pragma once

#include "cli/args.h"

namespace gpt2::cli {

/// The commands. Each takes the arguments after its name, writes its answer to standard output and
/// returns the exit status. Throws as parse() does for the arguments, Error for the rest.
/// `check` is given generate's PROMPT, unless a -- stands before it.
int generate(Arguments arguments, void (*check)(const std::string& prompt) = nullptr);
int tokenize(Arguments arguments);
int info(Arguments arguments);
int bench(Arguments arguments);
int quantize(Arguments arguments);

}  // namespace gpt2::cli
