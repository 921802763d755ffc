#pragma once

#include <cstddef>
#include <cstdint>

#include "gpt2/generate.h"

namespace gpt2::cli {

/// Prints the lines of --stats on standard error. `session` is the session of the text; it had
/// `before` tokens before the generation.
void print_stats(const GenerationResult& result, const Session& session, std::size_t before);

/// The numbers that --stats prints for several texts from one prompt.
struct StatsOfTexts {
  const char* name;  ///< the kind of texts, such as "samples"
  std::size_t texts = 0;
  std::size_t tokens = 0;         ///< the number of new tokens in all texts
  double seconds = 0.0;           ///< the time for them and the prompt
  std::uint64_t logits_hash = 0;  ///< a hash for all texts in order; 0: there were no logits
};

/// Prints the lines of --stats for several texts.
void print_stats(const StatsOfTexts& stats);

}  // namespace gpt2::cli
