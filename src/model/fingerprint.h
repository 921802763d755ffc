#pragma once

#include <cstdint>

#include "model/transformer.h"

namespace gpt2 {

/// A hash that tells models apart: of the numbers of the config that change a token's keys and
/// values, of all biases and parameters of LayerNorm, and of each matrix's type, shape and 16
/// samples of 256 bytes. It reads about 4 KB of each matrix, so that it takes milliseconds for any
/// model, and is the same on every machine.
[[nodiscard]] std::uint64_t fingerprint(const Transformer& transformer);

}  // namespace gpt2
