#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gpt2/sampler.h"

// Logits processors: the functions that turn logits into the scores from which a token is chosen.
// Each implements one option of SamplingOptions and changes `scores` in place. processors_for()
// determines their order.
//
// Sums are added in a fixed order, and exp and log are the project's own, so that the scores have
// the same bits on every machine. If an option names tokens, its function accesses only the scores
// of these tokens.

namespace gpt2 {

/// The score of a removed token.
inline constexpr float kRemoved = -std::numeric_limits<float>::infinity();

struct Processing {
  std::span<float> scores;       ///< (vocab_size)
  std::span<const TokenId> ids;  ///< all tokens so far
  const SamplingOptions& options;
  const SequenceLimits& limits;

  // Scratch with any content.
  std::span<float> scratch;           ///< (vocab_size)
  std::span<float> keys;              ///< (vocab_size) if typical_p is set
  std::vector<std::uint32_t>& order;  ///< has a capacity of vocab_size

  [[nodiscard]] float& score(TokenId id) const { return scores[static_cast<std::size_t>(id)]; }
};

using Processor = void (*)(const Processing&);

/// Throws Error(invalid_argument) if `best`, the highest score of any token that may follow
/// n_tokens tokens, is that of a removed token.
void require_token(float best, std::size_t n_tokens);

/// Returns the processors for the options that differ from their defaults, in the order in which
/// they must run.
[[nodiscard]] std::vector<Processor> processors_for(const SamplingOptions& options);

/// Adds those that only drawing needs, in their order: the temperature and the filters.
void add_filters(std::vector<Processor>& list, const SamplingOptions& options);

}  // namespace gpt2
