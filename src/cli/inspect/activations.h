#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/observer.h"

namespace gpt2::cli {

/// Keeps those values of a pass that the report shows one by one: the attention weights and, for
/// the page, the inputs of the LayerNorms.
class Activations {
 public:
  Activations(const Config& config, bool with_inputs);

  /// An observer that fills in this object, which must stay where it is.
  [[nodiscard]] Observer observer();

  /// Row q has the q + 1 weights of query q.
  [[nodiscard]] const std::vector<std::vector<float>>& attention(std::size_t layer,
                                                                 std::size_t head) const {
    return attention_[layer * n_head_ + head];
  }

  /// (tokens, n_embd) for each LayerNorm, in the order of NormIndex.
  [[nodiscard]] const std::vector<std::vector<float>>& norm_inputs() const { return inputs_; }

 private:
  void see(const Observation& seen);

  std::size_t n_head_;
  bool with_inputs_;
  std::vector<std::vector<std::vector<float>>> attention_;
  std::vector<std::vector<float>> inputs_;
};

}  // namespace gpt2::cli
