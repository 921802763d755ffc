#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "generate/writing/prompt_reader.h"
#include "gpt2/beam_search.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"

namespace gpt2 {

/// The sessions of a beam search. Records which session holds which beam, and the logits after each
/// beam. At first, all beams refer to one session, which holds the prompt.
class BeamSessions {
 public:
  BeamSessions(const Engine& engine, std::size_t num_beams, std::size_t max_tokens);

  /// Reads the prompt, of at least one token, in passes of a fraction of a second each. Returns
  /// false if on_prompt has cancelled.
  [[nodiscard]] bool read(std::span<const TokenId> prompt, const PromptReader::OnPrompt& on_prompt);

  /// All tokens of the beam, including the prompt.
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t beam) const;

  /// (vocab_size), after the last token of the beam.
  [[nodiscard]] std::span<const float> logits(std::size_t beam) const;

  /// Every beam b becomes a child of the beam parents[b], followed by tokens[b]. Computes the
  /// logits after these in one forward pass. The first child of a beam takes over its session; the
  /// session is copied for its other children, into sessions that no beam needs any more.
  void advance(std::span<const std::size_t> parents, std::span<const TokenId> tokens);

 private:
  void follow(std::span<const std::size_t> parents);
  [[nodiscard]] std::span<float> row(std::size_t session);

  Engine engine_;
  std::vector<Session> sessions_;
  std::vector<std::size_t> session_of_;  // (num_beams): which session holds the beam
  std::vector<float> logits_;            // (num_beams, vocab_size): a row for each session
};

/// What on_step receives: a step with what only the search and its tests need.
struct WholeBeamStep : BeamStep {
  std::span<const std::size_t> parents;  ///< (num_beams): the beam of the last step that each one
                                         ///< continues
  /// (num_beams): the sum of the processed log-probabilities. About -1e9 for a beam that does not
  /// exist yet, which happens if the options leave fewer tokens than there are beams.
  std::span<const float> sums;
};

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

  void clear() noexcept { heap_.clear(); }

  /// Considers every token after `beam`, whose sum so far is `sum`. REQUIRES: scores are not NaN.
  void add(std::size_t beam, float sum, std::span<const float> scores);

  void merge(const BestCandidates& other);

  /// Returns the candidates, best first: fewer than `count` if there were fewer. They are valid
  /// until clear(). REQUIRES: clear() is called before the next add().
  [[nodiscard]] std::span<const Candidate> sorted();

 private:
  void consider(const Candidate& candidate);

  std::size_t count_;
  std::vector<Candidate> heap_;  // the worst one is first
};

/// Finds the best candidates of some beams. The engine's threads share the beams, and each thread
/// has its own processors. If SamplingOptions::processors has functions, the calling thread does
/// all the work, because these functions must be called on it.
class BeamScorer {
 public:
  /// Keeps the best `count` candidates. `options` must outlive the scorer. Throws what the sampler
  /// throws for wrong options.
  BeamScorer(const Engine& engine, const BeamSearchOptions& options, const SequenceLimits& limits,
             std::size_t count);

  /// Returns the best candidates after the beams, best first: fewer than `count` if there are
  /// fewer. sums: (num_beams). The span lives until the next call. Throws what the processors
  /// throw.
  [[nodiscard]] std::span<const Candidate> best(const BeamSessions& sessions,
                                                std::span<const float> sums);

 private:
  struct Scratch {
    Sampler sampler;
    std::vector<float> log_probs;  // (vocab_size)
    BestCandidates candidates;
  };

  [[nodiscard]] Scratch made() const;
  void score(Scratch& scratch, std::span<const float> logits, std::span<const TokenId> ids,
             std::size_t beam, float sum) const;

  Engine engine_;
  const BeamSearchOptions& options_;
  SequenceLimits limits_;
  std::size_t count_;
  std::vector<std::optional<Scratch>>
      scratch_;  // one for each thread that has had work; the first belongs to the calling thread
};

/// The best sequences that have ended, with their scores. Decides whether the search can end.
/// HuggingFace calls such a list BeamHypotheses.
class EndedSequences {
 public:
  /// Keeps the best `count` sequences. `max_length` is the max number of new tokens.
  EndedSequences(std::size_t count, std::size_t max_length, const BeamOptions& options);

  /// Adds a sequence whose log-probabilities have this sum, if the list is not full or contains a
  /// worse sequence. In the second case, removes the worst one. `length` is the number of new
  /// tokens, including the one that ended the sequence. Sets the score of the sequence.
  void add(float sum, std::size_t length, BeamSequence sequence);

  /// Returns whether the search can end after a step. `best_sum` is the highest sum of the beams
  /// that continue, and `length` the number of new tokens that they have.
  [[nodiscard]] bool is_final(float best_sum, std::size_t length) const;

  /// The sequences, best first. If scores are equal, the one that was added first comes first.
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
