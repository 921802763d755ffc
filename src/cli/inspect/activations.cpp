#include "cli/inspect/activations.h"

#include "gpt2/inspect.h"

namespace gpt2::cli {

Activations::Activations(const Config& config, bool with_inputs)
    : n_head_(config.n_head),
      with_inputs_(with_inputs),
      attention_(config.n_layer * config.n_head),
      inputs_(with_inputs ? 2 * config.n_layer + 1 : 0) {}

Observer Activations::observer() {
  using enum Observed;
  return {.see = [this](const Observation& seen) { see(seen); },
          .wants = [this](Observed what, std::size_t) {
            if (what == attention_weights) return true;
            return with_inputs_ && (what == embeddings || what == attn_output ||
                                    what == block_output);
          }};
}

// The input of ln_2 is that of ln_1 plus the output of attention.
void Activations::see(const Observation& seen) {
  for (std::size_t i = 0; i < seen.rows; ++i) {
    const std::span<const float> row = seen.row(i);
    if (seen.what == Observed::attention_weights) {
      const auto weights = row.first(seen.first + i + 1);
      attention_[seen.layer * n_head_ + seen.head].emplace_back(weights.begin(), weights.end());
      continue;
    }
    const std::size_t norm = seen.what == Observed::embeddings    ? NormIndex::ln_1(0)
                             : seen.what == Observed::attn_output ? NormIndex::ln_2(seen.layer)
                                                                  : NormIndex::ln_1(seen.layer + 1);
    std::vector<float>& input = inputs_[norm];
    const std::size_t begin = input.size();
    input.insert(input.end(), row.begin(), row.end());
    if (seen.what != Observed::attn_output) continue;
    for (std::size_t j = 0; j < row.size(); ++j) input[begin + j] += inputs_[norm - 1][begin + j];
  }
}

}  // namespace gpt2::cli
