#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/score.h"

namespace gpt2 {

/// Returns the windows in which a text of so many tokens is scored, with nll 0. REQUIRES: 1 <=
/// stride <= context.
[[nodiscard]] std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context,
                                                   std::size_t stride);

}  // namespace gpt2
