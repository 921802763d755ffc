#include "cli/inspect/activations.h"

namespace gpt2::cli {

Observer Activations::observer() {
  return {.see =
              [this](const Observation& seen) {
                std::vector<float>& all = rows_[{seen.what, seen.layer, seen.head}];
                for (std::size_t i = 0; i < seen.rows; ++i) {
                  std::span<const float> row = seen.row(i);
                  if (seen.what == Observed::attention_weights) row = row.first(seen.first + i + 1);
                  all.insert(all.end(), row.begin(), row.end());
                }
              },
          .wants = [this](Observed what, std::size_t) { return wanted_.contains(what); }};
}

// The input of ln_2 is that of ln_1 plus the output of attention, added as the pass adds it.
std::vector<std::vector<float>> norm_inputs(const Activations& activations, const Config& config) {
  std::vector<std::vector<float>> inputs = {activations.rows(Observed::embeddings, 0)};
  for (std::size_t layer = 0; layer < config.n_layer; ++layer) {
    std::vector<float> middle = inputs.back();
    const std::vector<float>& added = activations.rows(Observed::attn_output, layer);
    for (std::size_t i = 0; i < middle.size(); ++i) middle[i] += added[i];
    inputs.push_back(std::move(middle));
    inputs.push_back(activations.rows(Observed::block_output, layer));
  }
  return inputs;
}

}  // namespace gpt2::cli
