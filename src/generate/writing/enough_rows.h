#pragma once

#include <cstddef>

namespace gpt2 {

/// With this many rows, reading the weights takes only a small share of a pass.
inline constexpr std::size_t kEnoughRows = 512;

}  // namespace gpt2
