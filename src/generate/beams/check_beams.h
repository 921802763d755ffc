#pragma once

#include "gpt2/beam_options.h"

namespace gpt2 {

/// Throws Error(invalid_argument), which names the option, for one that is outside its range or
/// does not go with another.
void check_beams(const BeamOptions& options);

}  // namespace gpt2
