#pragma once

#include <cstddef>

namespace gpt2 {

/// Returns the share of the work that is done, from 0 to 1, for functions that show progress: 1 if
/// there is nothing to do.
[[nodiscard]] inline double share_of(std::size_t done, std::size_t total) noexcept {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

}  // namespace gpt2
