#pragma once

#include <cstddef>
#include <memory>

#include "gpt2/model.h"
#include "model/transformer.h"

namespace gpt2::test {

/// The model with its first `n_layer` blocks and its first `n_positions` positions: a smaller model
/// of the same vocabulary, which often agrees. With all blocks, it computes the same logits.
[[nodiscard]] inline Model part_of(const Model& model, std::size_t n_layer,
                                   std::size_t n_positions) {
  const auto part = std::make_shared<Transformer>(*model.transformer());
  part->config.n_layer = n_layer;
  part->config.n_positions = n_positions;
  part->blocks.erase(part->blocks.begin() + static_cast<std::ptrdiff_t>(n_layer),
                     part->blocks.end());
  part->embedding.wpe.n = n_positions;
  part->shared_engine = std::make_shared<Transformer::SharedEngine>();
  return Model(part);
}

}  // namespace gpt2::test
