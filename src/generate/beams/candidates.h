#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/types.h"

namespace gpt2 {

/// A token that may follow a beam.
struct Candidate {
  float sum;         ///< the sum of the log-probabilities of the beam and the token
  std::size_t beam;  ///< the beam that it continues
  TokenId token;
};

/// Collects the best candidates of several beams in one pass over the scores of each beam. If sums
/// are equal, the lower beam is better, and then the lower token, so that the result does not
/// depend on the order in which candidates are added.
class BestCandidates {
 public:
  /// Keeps the best `count` candidates. REQUIRES: count > 0.
  explicit BestCandidates(std::size_t count) : count_(count) {}

  /// Forgets all candidates.
  void clear() noexcept { heap_.clear(); }

  /// Considers every token after `beam`, whose sum so far is `sum`. REQUIRES: scores are not NaN.
  void add(std::size_t beam, float sum, std::span<const float> scores);

  /// Considers the candidates of `other`.
  void merge(const BestCandidates& other);

  /// Returns the candidates, best first: fewer than `count` if there were fewer. They are valid
  /// until clear(). REQUIRES: clear() is called before the next add().
  [[nodiscard]] std::span<const Candidate> sorted();

 private:
  void consider(const Candidate& candidate);

  std::size_t count_;
  std::vector<Candidate> heap_;  // the worst one is first
};

}  // namespace gpt2
