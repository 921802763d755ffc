#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/observer.h"

namespace gpt2::cli {

/// Keeps those values of a pass that a report shows one by one.
class Activations {
 public:
  explicit Activations(std::set<Observed> wanted) : wanted_(std::move(wanted)) {}

  /// An observer that fills in this object, which must stay where it is.
  [[nodiscard]] Observer observer();

  /// The rows of all tokens, one after another. Row q of attention weights has q + 1 of them.
  /// REQUIRES: `what` is wanted.
  [[nodiscard]] const std::vector<float>& rows(Observed what, std::size_t layer,
                                               std::size_t head = 0) const {
    return rows_.at({what, layer, head});
  }

 private:
  std::set<Observed> wanted_;
  std::map<std::tuple<Observed, std::size_t, std::size_t>, std::vector<float>> rows_;
};

/// The values that norm_inputs() needs.
inline const std::set<Observed> kNormInputs = {Observed::embeddings, Observed::attn_output,
                                               Observed::block_output};

/// Returns the inputs of the LayerNorms, (tokens, n_embd) for each, in the order of NormIndex.
[[nodiscard]] std::vector<std::vector<float>> norm_inputs(const Activations& activations,
                                                          const Config& config);

}  // namespace gpt2::cli
