#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "generate/beams/beam_sessions.h"
#include "generate/beams/candidates.h"
#include "gpt2/beam_search.h"
#include "gpt2/sampler.h"

namespace gpt2 {

/// Finds the best candidates of some beams. The engine's threads share the beams, and each thread
/// has its own processors. If SamplingOptions::processors has functions, the calling thread does
/// all the work, because these functions must be called on it.
class BeamScorer {
 public:
  /// Keeps the best `count` candidates. `options` must outlive the scorer. Throws what the sampler
  /// throws for wrong options.
  BeamScorer(const Engine& engine, const BeamSearchOptions& options, const SequenceLimits& limits,
             std::size_t count);

  /// Returns the best candidates after the beams [begin, end), best first: fewer than `count` if
  /// there are fewer. The diversity penalty is subtracted from a token's log-probability once for
  /// each time that the token occurs in `penalized`. sums: (num_beams). The span lives until the
  /// next call. Throws what the processors throw.
  [[nodiscard]] std::span<const Candidate> best(const BeamSessions& sessions, std::size_t begin,
                                                std::size_t end, std::span<const float> sums,
                                                std::span<const TokenId> penalized);

 private:
  // The scratch memory of a thread.
  struct Scratch {
    Sampler sampler;
    std::vector<float> log_probs;  // (vocab_size)
    BestCandidates candidates;
  };

  [[nodiscard]] Scratch made() const;
  void score(Scratch& scratch, std::span<const float> logits, std::span<const TokenId> ids,
             std::size_t beam, float sum, std::span<const TokenId> penalized) const;

  Engine engine_;
  const BeamSearchOptions& options_;
  SequenceLimits limits_;
  std::size_t count_;
  std::vector<std::optional<Scratch>>
      scratch_;  // one for each thread that has had work; the first belongs to the calling thread
};

}  // namespace gpt2
