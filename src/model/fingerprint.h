#pragma once

#include <cstdint>

#include "model/transformer.h"

namespace gpt2 {

/// Returns a hash that distinguishes models. It covers the config except for the ids of bos and
/// eos, all biases and parameters of LayerNorm, and the type, the shape and 16 samples of 256 bytes
/// of each matrix. It reads only about 4 KB of each matrix, so it takes milliseconds for any model.
/// The hash is the same on every machine.
[[nodiscard]] std::uint64_t fingerprint(const Transformer& transformer);

}  // namespace gpt2
