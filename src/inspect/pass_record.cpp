#include "inspect/pass_record.h"

#include <algorithm>
#include <utility>

#include "inspect/vectors.h"
#include "model/watch.h"

namespace gpt2 {
namespace {

UpdateInspection describe_update(std::span<const float> before, std::span<const float> after,
                                 std::span<const float> added) {
  const double norm_before = norm_of(before), norm_after = norm_of(after);
  return {.added_norm = static_cast<float>(norm_of(added)),
          .growth = static_cast<float>(norm_after / norm_before),
          .cosine = static_cast<float>(dot(before, after) / (norm_before * norm_after))};
}

}  // namespace

PassRecord::PassRecord(const Config& config, std::span<const TokenId> tokens, std::size_t top)
    : tokens_(tokens.size()),
      n_embd_(config.n_embd),
      top_(top),
      epsilon_(config.layer_norm_epsilon),
      inputs_((2 * config.n_layer + 1) * tokens_ * n_embd_),
      added_(2 * config.n_layer * tokens_ * n_embd_),
      heads_(config.n_layer * tokens_ * n_embd_),
      output_(tokens_ * n_embd_),
      norms_(2 * config.n_layer + 1, std::vector<NormInspection>(tokens_)),
      updates_(2 * config.n_layer, std::vector<UpdateInspection>(tokens_)),
      mlps_(config.n_layer, std::vector<MlpInspection>(tokens_)),
      watcher_(tokens, config.n_layer, config.n_head) {}

void PassRecord::see(const Observation& seen) {
  using enum Observed;
  const std::size_t layer = seen.layer;
  switch (seen.what) {
    case embeddings: return store(inputs_, 0, seen);
    case ln_1_statistics: return see_statistics(NormIndex::ln_1(layer), seen);
    case ln_1_output: return see_output(NormIndex::ln_1(layer), seen);
    case attention_weights: return watcher_.see(seen);
    case head_outputs: return store(heads_, layer, seen);
    case attn_output: return store(added_, 2 * layer, seen);
    case block_middle: return store(inputs_, NormIndex::ln_2(layer), seen);
    case ln_2_statistics: return see_statistics(NormIndex::ln_2(layer), seen);
    case ln_2_output: return see_output(NormIndex::ln_2(layer), seen);
    case mlp_activations: return see_activations(seen);
    case mlp_output: return store(added_, 2 * layer + 1, seen);
    case block_output: return store(inputs_, NormIndex::ln_1(layer + 1), seen);
    case ln_f_statistics: return see_statistics(NormIndex::ln_f(layer), seen);
    case ln_f_output: store(output_, 0, seen); return see_output(NormIndex::ln_f(layer), seen);
    case queries:
    case keys:
    case values:
    case mlp_preactivations: break;
  }
}

void PassRecord::store(std::vector<float>& all, std::size_t i, const Observation& seen) {
  for (std::size_t row = 0; row < seen.rows; ++row) {
    std::ranges::copy(seen.row(row), all.data() + (i * tokens_ + seen.first + row) * n_embd_);
  }
}

void PassRecord::see_statistics(std::size_t norm, const Observation& seen) {
  std::vector<float> normalized(n_embd_);
  for (std::size_t row = 0; row < seen.rows; ++row) {
    const std::size_t token = seen.first + row;
    const std::span<const float> x = {input(norm).row(token), n_embd_};
    NormInspection& found = norms_[norm][token];
    // An observer may have changed those that are seen.
    const LayerNormStatistics of_input = statistics_of(x, epsilon_);
    found.mean = of_input.mean;
    found.variance = of_input.variance;
    found.rstd = of_input.rstd;
    found.used_mean = seen.row(row)[0];
    found.used_rstd = seen.row(row)[2];
    found.input_norm = static_cast<float>(norm_of(x));
    for (std::size_t i = 0; i < n_embd_; ++i) normalized[i] = (x[i] - found.mean) * found.rstd;
    for (const std::size_t i : largest(normalized, top_)) {
      found.outliers.push_back({.dimension = i, .value = x[i], .normalized = normalized[i]});
    }
  }
}

void PassRecord::see_output(std::size_t norm, const Observation& seen) {
  for (std::size_t row = 0; row < seen.rows; ++row) {
    norms_[norm][seen.first + row].output_norm = static_cast<float>(norm_of(seen.row(row)));
  }
}

void PassRecord::see_activations(const Observation& seen) {
  for (std::size_t row = 0; row < seen.rows; ++row) {
    const std::span<const float> neurons = seen.row(row);
    MlpInspection& found = mlps_[seen.layer][seen.first + row];
    const auto active = std::ranges::count_if(neurons, [](float value) { return value > 0.0f; });
    found.active_share =
        static_cast<float>(static_cast<double>(active) / static_cast<double>(neurons.size()));
    for (const std::size_t i : largest(neurons, top_)) {
      found.largest.push_back({.neuron = i, .value = neurons[i]});
    }
  }
}

void PassRecord::move_to(Inspection& found) {
  for (std::size_t update = 0; update < updates_.size(); ++update) {
    const std::size_t layer = update / 2, half = update % 2;
    for (std::size_t token = 0; token < tokens_; ++token) {
      const auto row = [&](ConstMatrix rows) { return std::span(rows.row(token), n_embd_); };
      updates_[update][token] =
          describe_update(row(input(update)), row(input(update + 1)), row(added(layer, half)));
    }
  }
  found.norms = std::move(norms_);
  found.updates = std::move(updates_);
  found.mlps = std::move(mlps_);
  found.heads = watcher_.take();
}

}  // namespace gpt2
