#pragma once

#include <cstddef>

#include "gpt2/beam_search.h"
#include "gpt2/generate.h"
#include "gpt2/sampling_options.h"

namespace gpt2 {

/// Throws Error(invalid_argument), which names the option, if an option is outside its range, has a
/// token id outside the vocabulary, or has a sequence without ids.
void check_options(const SamplingOptions& options, std::size_t vocab_size);

/// The same for the options of generation, without their sampling options, and for those of a beam
/// search, which may also contradict one another.
void check_options(const GenerationOptions& options);
void check_options(const BeamOptions& options);

}  // namespace gpt2
