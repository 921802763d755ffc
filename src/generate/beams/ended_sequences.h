#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/beam_search.h"

namespace gpt2 {

/// The best sequences of a group of beams that have ended, with their scores. Decides whether the
/// search of the group can end. HuggingFace calls such a list BeamHypotheses.
class EndedSequences {
 public:
  /// Keeps the best `count` sequences. `max_length` is the max number of new tokens.
  EndedSequences(std::size_t count, std::size_t max_length, const BeamOptions& options);

  /// Adds a sequence whose log-probabilities have this sum, if the list is not full or contains a
  /// worse sequence. In the second case, the new sequence replaces the worst one. `length` is the
  /// number of new tokens, including the one that ended the sequence, which `tokens` does not
  /// contain.
  void add(float sum, std::size_t length, std::span<const TokenId> tokens, FinishReason reason);

  /// Returns whether the search can end after a step. `best_sum` is the highest sum of all
  /// candidates of that step, and `length` the number of new tokens that they have.
  [[nodiscard]] bool is_final(float best_sum, std::size_t length) const;

  /// The sequences, in the order in which they were added.
  [[nodiscard]] const std::vector<BeamSequence>& list() const noexcept { return list_; }

 private:
  [[nodiscard]] double score(float sum, std::size_t length) const;
  [[nodiscard]] bool is_full() const noexcept { return list_.size() == count_; }

  std::size_t count_, max_length_;
  double length_penalty_;
  EarlyStopping early_stopping_;
  std::vector<BeamSequence> list_;
};

}  // namespace gpt2
