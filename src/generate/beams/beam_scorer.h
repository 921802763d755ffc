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

/// Finds the best candidates of some beams. The engine's threads share the beams, each with
/// processors of its own. If functions of the caller's are among the processors, the caller's
/// thread does everything.
class BeamScorer {
 public:
  /// Keeps the best `count` candidates. `options` must outlive the scorer. Throws what the sampler
  /// throws for wrong options.
  BeamScorer(const Engine& engine, const BeamSearchOptions& options, const SequenceLimits& limits,
             std::size_t count);

  /// The best of all tokens after the beams from `begin` to `end`, best first: fewer than `count`
  /// if there are fewer. Each token in `penalized` loses the diversity penalty as often as it is
  /// there. sums: (num_beams). The span lives until the next call. Throws what the processors
  /// throw.
  [[nodiscard]] std::span<const Candidate> best(const BeamSessions& sessions, std::size_t begin,
                                                std::size_t end, std::span<const float> sums,
                                                std::span<const TokenId> penalized);

 private:
  // What a thread works with.
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
      scratch_;  // of each thread, once it has work; first: caller's
};

}  // namespace gpt2
