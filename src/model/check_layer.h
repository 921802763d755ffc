#pragma once

#include <cstddef>

#include "base/fail.h"
#include "gpt2/config.h"

namespace gpt2 {

/// Throws Error(invalid_argument) unless a model with this config has hidden states of this layer
/// (see gpt2/embed.h).
inline void check_layer(std::size_t layer, const Config& config) {
  if (layer <= config.n_layer) return;
  reject("the layer must be from 0, the embeddings, to ", config.n_layer,
         ", the output of the last block, got ", layer);
}

}  // namespace gpt2
