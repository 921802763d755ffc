#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/inspect.h"

namespace gpt2 {

class HeadWatcher {
 public:
  HeadWatcher(std::span<const TokenId> tokens, std::size_t n_layer, std::size_t n_head);

  /// Takes the attention weights of one head for some queries. Each query must be taken once.
  void see(const Observation& weights);

  /// Returns the descriptions by [layer][head]. REQUIRES: every query of every head was taken.
  [[nodiscard]] std::vector<std::vector<HeadInspection>> take();

 private:
  struct Mean {
    double sum = 0.0;
    std::size_t count = 0;

    void add(double value) {
      sum += value;
      ++count;
    }
    [[nodiscard]] std::optional<float> value() const;
  };
  struct Scores {
    Mean previous_token, first_token, duplicate_token, induction;
  };

  std::vector<std::vector<std::size_t>> earlier_;  // for each token: the same token before it
  std::vector<std::vector<HeadInspection>> heads_;
  std::vector<std::vector<Scores>> scores_;
};

}  // namespace gpt2
