#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gpt2/sampling_options.h"

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

/// The arguments of a processor.
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

/// Returns the processors for the options that differ from their defaults, in the order in which
/// they must run.
[[nodiscard]] std::vector<Processor> processors_for(const SamplingOptions& options);

/// Throws Error(invalid_argument), which names the option, if an option is outside its range. Does
/// not check token ids.
void check_ranges(const SamplingOptions& options);

/// Throws Error(invalid_argument), which names the option, if it has a token id outside the
/// vocabulary or a sequence without ids.
void check_ids(const SamplingOptions& options, std::size_t vocab_size);

// penalties.cpp
void add_sequence_bias(const Processing& p);
void add_logit_bias(const Processing& p);
void penalize_presence_and_frequency(const Processing& p);
void penalize_repetition(const Processing& p);

// bans.cpp
void ban_repeated_ngrams(const Processing& p);
void ban_bad_words(const Processing& p);
void suppress(const Processing& p);
void suppress_at_begin(const Processing& p);

// lengths.cpp
void require_min_length(const Processing& p);
void require_min_new_tokens(const Processing& p);
void force_bos(const Processing& p);
void force_eos(const Processing& p);
void raise_eos_with_length(const Processing& p);

// values.cpp
void require_known_ids(const Processing& p);
void remove_invalid_values(const Processing& p);
void call_processors(const Processing& p);
void renormalize(const Processing& p);

// filters.cpp
void divide_by_temperature(const Processing& p);
void keep_top_k(const Processing& p);
void keep_top_n_sigma(const Processing& p);
void keep_top_p(const Processing& p);
void keep_min_p(const Processing& p);
void keep_typical(const Processing& p);
void cut_epsilon(const Processing& p);
void cut_eta(const Processing& p);

}  // namespace gpt2
