#include "model/transformer.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace gpt2 {
namespace {

ActivationKernel kernel_of(ActivationFunction function) {
  const Kernels& k = kernels();
  // In the order of the enumeration: gelu_fast is gelu_new, linear has none.
  const ActivationKernel kernel[] = {k.gelu_new, k.gelu_new, k.gelu,  k.gelu_10, k.quick_gelu,
                                     k.relu,     k.relu2,    k.relu6, k.silu,    k.mish,
                                     k.tanh,     k.sigmoid,  nullptr, k.laplace};
  return kernel[static_cast<std::size_t>(function)];
}

void show(Team& team, const ForwardObserver& observer, std::size_t stage, ConstMatrix x) noexcept {
  if (!observer) return;
  if (team.rank() == 0) observer(stage, x);
  team.barrier();
}

}  // namespace

Transformer Transformer::without_weights(const Config& config, Weight::Layout of_linears,
                                         std::size_t most_layers) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  const LayerNorm norm(Shape{n_embd}, config.layer_norm_epsilon, false);
  // A row for each of `rows` output features.
  const auto table = [&](std::size_t rows, WeightType type) {
    return Weight{nullptr, type, Weight::Layout::nk, n_embd, rows};
  };
  const auto linear = [&](std::size_t k, std::size_t n) {
    return Linear{.weight = {nullptr, config.packed, of_linears, k, n}, .bias = {}};
  };
  Transformer transformer{
      .config = config,
      // Positions are never packed: a forward pass reads one row of them for each token.
      .embedding = {table(config.vocab_size, config.packed),
                    table(config.n_positions, WeightType::stored)},
      .ln_f = norm,
      .lm_head = table(config.vocab_size, config.packed)};
  for (std::size_t layer = 0; layer < std::min(config.n_layer, most_layers); ++layer) {
    float scale = 1.0f;
    if (config.scale_attn_weights) scale /= std::sqrt(static_cast<float>(config.head_dim()));
    if (config.scale_attn_by_inverse_layer_idx) scale /= static_cast<float>(layer + 1);
    transformer.blocks.push_back({.ln_1 = norm,
                                  .attn = {.c_attn = linear(n_embd, 3 * n_embd),
                                           .c_proj = linear(n_embd, n_embd),
                                           .n_head = config.n_head,
                                           .layer = layer,
                                           .scale = scale},
                                  .ln_2 = norm,
                                  .mlp = {.c_fc = linear(n_embd, inner),
                                          .c_proj = linear(inner, n_embd),
                                          .activation = kernel_of(config.activation_function)}});
  }
  return transformer;
}

void Transformer::forward(Team& team, const Batch& batch, Workspace& ws,
                          const ForwardObserver& observer) const noexcept {
  Matrix x = ws.x.top(batch.tokens.size());
  embedding.forward(team, x, batch, ws);
  show(team, observer, 0, x);

  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    x = blocks[layer].forward(team, x, batch, ws, layer + 1 == blocks.size());
    show(team, observer, layer + 1, x);
  }

  const ConstMatrix normed = normalize(team, x, ln_f, ws);
  show(team, observer, blocks.size() + 1, normed);
  if (normed.rows > 0) project_rows(team, batch.logits.data(), lm_head, normed, ws);
}

}  // namespace gpt2
