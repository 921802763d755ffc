#include "model/transformer.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"
#include "model/watch.h"

namespace gpt2 {
namespace {

ActivationKernel kernel_of(ActivationFunction function) noexcept {
  const Kernels& k = kernels();
  switch (function) {
    case ActivationFunction::gelu_new:
    case ActivationFunction::gelu_fast: return k.gelu_new;  // the same formula
    case ActivationFunction::gelu: return k.gelu;
    case ActivationFunction::gelu_10: return k.gelu_10;
    case ActivationFunction::quick_gelu: return k.quick_gelu;
    case ActivationFunction::relu: return k.relu;
    case ActivationFunction::relu2: return k.relu2;
    case ActivationFunction::relu6: return k.relu6;
    case ActivationFunction::silu: return k.silu;
    case ActivationFunction::mish: return k.mish;
    case ActivationFunction::tanh: return k.tanh;
    case ActivationFunction::sigmoid: return k.sigmoid;
    case ActivationFunction::linear: break;
    case ActivationFunction::laplace: return k.laplace;
  }
  return nullptr;
}

// Copies the wanted rows of a stage to the addresses in batch.logits. `states` has either all rows
// of the batch or, in the last stages, only the wanted rows.
void copy_wanted(const Batch& batch, ConstMatrix states) noexcept {
  for (std::size_t s = 0; s < batch.slices.size(); ++s) {
    const Batch::Slice& wanted = batch.wanted[s];
    const bool has_all = states.rows == batch.tokens.size();
    const std::size_t first = has_all ? batch.first_wanted(s) : wanted.row;
    for (std::size_t i = 0; i < wanted.rows; ++i) {
      std::copy_n(states.row(first + i), states.cols, batch.logits[wanted.row + i]);
    }
  }
}

}  // namespace

Transformer Transformer::without_weights(const Config& config, Weight::Layout of_linears,
                                         std::size_t max_layers) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  const LayerNorm norm(Shape{n_embd}, config.layer_norm_epsilon, false);
  // Returns a weight with `rows` rows of n_embd numbers. Each row is an output feature.
  const auto table = [&](std::size_t rows, WeightType type) {
    return Weight{nullptr, type, Weight::Layout::nk, n_embd, rows};
  };
  const auto linear = [&](std::size_t k, std::size_t n) {
    return Linear{.weight = {nullptr, config.quantized, of_linears, k, n}, .bias = {}};
  };
  Transformer transformer{
      .config = config,
      // Position embeddings are never quantized, because a pass reads only one row for each token.
      .embedding = {table(config.vocab_size, config.quantized),
                    table(config.n_positions, WeightType::stored)},
      .ln_f = norm,
      .lm_head = table(config.vocab_size, config.quantized)};
  for (std::size_t layer = 0; layer < std::min(config.n_layer, max_layers); ++layer) {
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

void Transformer::forward(Team& team, const Batch& batch, Workspace& ws) const noexcept {
  const std::size_t n_layer = blocks.size();
  const auto show = [&](std::size_t stage, Observed what, std::size_t layer, Matrix states) {
    if (batch.watch) batch.watch->show(what, layer, batch, states);
    if (batch.hidden_stage == stage) copy_wanted(batch, states);
  };
  Matrix x = ws.x.top(batch.tokens.size());
  embedding.forward(team, x, batch, ws);
  show(0, Observed::embeddings, 0, x);

  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    const bool only_wanted = layer + 1 == n_layer && !batch.watch;
    x = blocks[layer].forward(team, x, batch, ws, only_wanted);
    show(layer + 1, Observed::block_output, layer, x);
  }

  Matrix normed = normalize(team, x, ln_f, batch, ws,
                            {Observed::ln_f_statistics, Observed::ln_f_output, n_layer});
  if (batch.hidden_stage == n_layer + 1) copy_wanted(batch, normed);
  if (batch.watch) normed = batch.move_wanted(normed);
  if (normed.rows == 0 || batch.hidden_stage) return;
  project_rows(team, batch.logits.data(), lm_head, normed, ws);
}

}  // namespace gpt2
