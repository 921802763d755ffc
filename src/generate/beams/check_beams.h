#pragma once

#include "gpt2/beam_search.h"

namespace gpt2 {

/// Throws Error(invalid_argument), which names the option, if an option is outside its range or
/// contradicts another one.
void check_beams(const BeamOptions& options);

}  // namespace gpt2
