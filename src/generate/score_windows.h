#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/score.h"

namespace gpt2 {

/// Returns the windows for scoring a text with this many tokens. Their nll is 0. REQUIRES: 1 <=
/// stride <= context.
[[nodiscard]] std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context,
                                                   std::size_t stride);

}  // namespace gpt2
