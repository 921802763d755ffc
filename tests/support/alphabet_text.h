#pragma once

#include <string>

#include "support/alphabet_model.h"
#include "support/command.h"

namespace gpt2::test {

/// Runs the command on alphabet_model(), with --no-newline, so that its output is the exact text.
inline Outcome generate(Words arguments, const Surroundings& surroundings = {}) {
  arguments.insert(arguments.begin(), {"-m", alphabet_model(), "--no-newline"});
  return run(arguments, surroundings);
}

/// Returns the text that generate() writes. Checks that there was no error.
inline std::string text(Words arguments, const Surroundings& surroundings = {}) {
  arguments.insert(arguments.begin(), {"-m", alphabet_model(), "--no-newline"});
  return output_of(arguments, surroundings);
}

}  // namespace gpt2::test
