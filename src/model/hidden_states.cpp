#include <vector>

#include "gpt2/embed.h"
#include "model/check_layer.h"
#include "model/engine_impl.h"
#include "model/session_impl.h"

namespace gpt2 {

void hidden_states(std::span<const HiddenSlice> slices, std::size_t layer) {
  if (slices.empty()) return;
  std::vector<Slice> same;
  for (const auto& [session, tokens, states] : slices) same.push_back({session, tokens, states});
  const Engine engine = session_of(same.front()).engine;
  const std::size_t n_layer = engine.model().config().n_layer;
  check_layer(layer, engine.model().config());
  // The transformer's stage n_layer is the output of the last block before ln_f.
  engine.impl().forward(same, engine.model(), layer < n_layer ? layer : n_layer + 1);
}

}  // namespace gpt2
