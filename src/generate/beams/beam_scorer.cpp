#include "generate/beams/beam_scorer.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "base/system/threads.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

SamplingOptions without_drawing(SamplingOptions options) {
  options.temperature = 0.0f;
  return options;
}

}  // namespace

BeamScorer::BeamScorer(const Engine& engine, const BeamSearchOptions& options,
                       const SequenceLimits& limits, std::size_t count)
    : engine_(engine),
      options_(options),
      limits_(limits),
      count_(count),
      scratch_(static_cast<std::size_t>(engine.threads())) {
  scratch_.front().emplace(made());
}

BeamScorer::Scratch BeamScorer::made() const {
  const std::size_t vocab_size = engine_.model().config().vocab_size;
  return {Sampler(without_drawing(options_.sampling), vocab_size, limits_),
          std::vector<float>(vocab_size), BestCandidates(count_)};
}

// Adds the tokens that may follow the beam to the candidates. The penalty for tokens that earlier
// groups have chosen in this step is subtracted before the processors run. HuggingFace subtracts it
// after sequence_bias, but the order makes no difference because both are sums.
void BeamScorer::score(Scratch& scratch, std::span<const float> logits,
                       std::span<const TokenId> ids, std::size_t beam, float sum,
                       std::span<const TokenId> penalized) const {
  const DefaultFloatState state;
  std::vector<float>& log_probs = scratch.log_probs;
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (std::ranges::all_of(logits, [](float logit) { return logit <= kLargest; })) {
    log_softmax(log_probs, logits);
  } else {  // as in PyTorch; the sampler refuses NaN, or replaces it if remove_invalid_values is
            // set
    std::ranges::fill(log_probs, std::numeric_limits<float>::quiet_NaN());
  }
  for (const TokenId token : penalized) {
    log_probs[static_cast<std::size_t>(token)] -= options_.beams.diversity_penalty;
  }
  scratch.candidates.add(beam, sum, scratch.sampler.process(log_probs, ids));
}

// If a beam fails on any thread, the calling thread scores all beams again, in order, so that the
// error is always that of the first beam that fails.
std::span<const Candidate> BeamScorer::best(const BeamSessions& sessions, std::size_t begin,
                                            std::size_t end, std::span<const float> sums,
                                            std::span<const TokenId> penalized) {
  const auto score_beam = [&](Scratch& scratch, std::size_t beam) {
    score(scratch, sessions.logits(beam), sessions.tokens(beam), beam, sums[beam], penalized);
  };
  const auto clear = [&] {
    for (std::optional<Scratch>& scratch : scratch_) {
      if (scratch) scratch->candidates.clear();
    }
  };
  clear();
  Scratch& own = *scratch_.front();
  bool is_alone = !options_.sampling.processors.empty();
  if (!is_alone) {
    std::vector<char> has_failed(end - begin, 0);
    engine_.for_each(end - begin, [&](std::size_t i, int rank) {
      try {
        std::optional<Scratch>& scratch = scratch_[static_cast<std::size_t>(rank)];
        if (!scratch) scratch.emplace(made());
        score_beam(*scratch, begin + i);
      } catch (const std::exception&) {
        has_failed[i] = 1;
      }
    });
    is_alone = std::ranges::count(has_failed, 0) != std::ssize(has_failed);
    if (is_alone) clear();
  }
  for (std::size_t beam = begin; is_alone && beam < end; ++beam) score_beam(own, beam);
  for (std::size_t i = 1; i < scratch_.size(); ++i) {
    if (scratch_[i]) own.candidates.merge(scratch_[i]->candidates);
  }
  return own.candidates.sorted();
}

}  // namespace gpt2
