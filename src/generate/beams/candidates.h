#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/token_id.h"

namespace gpt2 {

/// A token that may follow a beam.
struct Candidate {
  float sum;         ///< of the log-probabilities: those of the beam and that of the token
  std::size_t beam;  ///< the beam that it continues
  TokenId token;
};

/// The best candidates of all tokens of some beams, in one pass over each beam's scores. Of equal
/// sums, the lower beam is better, and then the lower token, so that the order in which candidates
/// come does not show.
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

  /// Returns the candidates, best first: fewer than `count` if there were fewer. They stay until
  /// clear(), which comes before the next add().
  [[nodiscard]] std::span<const Candidate> sorted();

 private:
  void consider(const Candidate& candidate);

  std::size_t count_;
  std::vector<Candidate> heap_;  // the worst one is first
};

}  // namespace gpt2
