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
    case ActivationFunction::hardswish: return k.hardswish;
    case ActivationFunction::leaky_relu: return k.leaky_relu;
    case ActivationFunction::sqrtsoftplus: return k.sqrtsoftplus;
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

Rows Norm::operator()(const Rows& x) const noexcept {
  const Rows y = {x.pass.ws.normed.top(x.rows), x.pass};
  const float* const scale = weight.size() > 0 ? weight.data() : nullptr;
  const float* const shift = bias.size() > 0 ? bias.data() : nullptr;
  constexpr std::size_t kRows = 8;  // take about a microsecond, as long as sharing them out
  x.pass.team.for_ranges(x.rows, kRows, [&](std::size_t begin, std::size_t end, int) {
    norm_kernels().layer_norm(y.row(begin), x.row(begin), scale, shift, end - begin, x.cols, eps());
  });
  if (x.pass.watch) x.pass.watch->show_norm(*this, x, y);
  return y;
}

Branch FeedForward::operator()(const Rows& x) const noexcept {
  Pass& pass = x.pass;
  const Matrix hidden = pass.ws.hidden.top(x.rows);
  const bool is_shown = pass.watch && pass.watch->wants(Observed::mlp_preactivations, pass.layer);
  c_fc.forward(pass, hidden, x, Linear::Output::store, is_shown ? nullptr : activation);
  if (is_shown) {
    pass.show(Observed::mlp_preactivations, hidden);
    for (std::size_t i = 0; activation && i < x.rows; ++i) activation(hidden.row(i), hidden.cols);
  }
  pass.show(Observed::mlp_activations, hidden);
  return {c_proj, hidden, Observed::mlp_output};
}

Rows Embedding::operator()(Pass& pass) const noexcept {
  const Batch& batch = pass.batch;
  const Rows x = {pass.ws.x.top(batch.tokens.size()), pass};
  pass.team.for_each(x.rows, [&](std::size_t i, int) {
    wte.read_row(x.row(i), static_cast<std::size_t>(batch.tokens[i]));
    float* const position = pass.ws.normed.row(i);
    wpe.read_row(position, batch.position[i]);
    kernels().add(x.row(i), position, x.cols);
  });
  return x;
}

Transformer Transformer::without_weights(const Config& config, Weight::Layout of_linears,
                                         std::size_t max_layers) {
  using enum Observed;
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  const auto norm = [&](Observed statistics, Observed output) {
    return Norm{LayerNorm(Shape{n_embd}, config.layer_norm_epsilon, false), statistics, output};
  };
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
      .ln_f = norm(ln_f_statistics, ln_f_output),
      .lm_head = table(config.vocab_size, config.quantized)};
  for (std::size_t layer = 0; layer < std::min(config.n_layer, max_layers); ++layer) {
    float scale = 1.0f;
    if (config.scale_attn_weights) scale /= std::sqrt(static_cast<float>(config.head_dim()));
    if (config.scale_attn_by_inverse_layer_idx) scale /= static_cast<float>(layer + 1);
    transformer.blocks.push_back({.ln_1 = norm(ln_1_statistics, ln_1_output),
                                  .attn = {.c_attn = linear(n_embd, 3 * n_embd),
                                           .c_proj = linear(n_embd, n_embd),
                                           .n_head = config.n_head,
                                           .layer = layer,
                                           .scale = scale},
                                  .ln_2 = norm(ln_2_statistics, ln_2_output),
                                  .mlp = {.c_fc = linear(n_embd, inner),
                                          .c_proj = linear(inner, n_embd),
                                          .activation = kernel_of(config.activation_function)}});
  }
  return transformer;
}

void Transformer::forward(Pass& pass) const noexcept {
  pass.layer = 0;
  const auto end_stage = [&](std::size_t stage, Observed what, const Rows& x) {
    pass.show(what, x);
    if (pass.hidden_stage == stage) copy_wanted(pass.batch, x);
  };
  Rows x = embedding(pass);
  end_stage(0, Observed::embeddings, x);

  for (; pass.layer < blocks.size(); ++pass.layer) {
    pass.only_wanted = pass.layer + 1 == blocks.size() && !pass.watch;
    blocks[pass.layer](x);
    end_stage(pass.layer + 1, Observed::block_output, x);
  }

  Matrix normed = ln_f(x);
  if (pass.hidden_stage == blocks.size() + 1) copy_wanted(pass.batch, normed);
  if (pass.watch) normed = pass.batch.move_wanted(normed);
  if (normed.rows == 0 || pass.hidden_stage) return;
  project_rows(pass, pass.batch.logits.data(), lm_head, normed);
}

}  // namespace gpt2
