#pragma once

#include "cli/options/options.h"

namespace gpt2::cli {

/// The commands. Each takes the arguments that follow its name, writes its answer to standard
/// output and returns the exit status. Throws what Options::parse() throws if the arguments are
/// invalid, and Error if anything else fails.
int generate(const Arguments& arguments);
int batch(const Arguments& arguments);
int tokenize(const Arguments& arguments);
int info(const Arguments& arguments);
int download(const Arguments& arguments);
int inspect(const Arguments& arguments);
int bench(const Arguments& arguments);
int quantize(const Arguments& arguments);
int score(const Arguments& arguments);
int embed(const Arguments& arguments);
int serve(const Arguments& arguments);

}  // namespace gpt2::cli
