#pragma once

#include <cstddef>

#include "cli/bench/report.h"
#include "gpt2/engine.h"

namespace gpt2::cli {

/// The number of positions that draft_gain() needs.
inline constexpr std::size_t kDraftGainTokens = 32;

/// The number of plain passes that take about as long as a repetition of draft_gain().
inline constexpr double kDraftGainPasses = 60.0;

/// Measures the gain from speculative decoding with an int4 copy of a model. Returns the median
/// times, in seconds, of a plain pass ("plain_seconds"), of drafting a token ("draft_seconds") and
/// of checking 1, 2, ... drafted tokens in one pass ("check_seconds"). "gains" has, for acceptance
/// rates of 0.7, 0.8 and 0.9 ("accepted"), how many tokens to draft at a time ("drafted") and the
/// speed-up over plain passes ("gain"). The acceptance rates are assumed because random weights do
/// not have the acceptance rate of a trained model.
///
/// `draft` computes with the int4 copy. REQUIRES: both engines have the same sizes, and
/// kDraftGainTokens positions or more.
[[nodiscard]] Json draft_gain(const Engine& engine, const Engine& draft, std::size_t repetitions);

/// The same row in words, with a newline.
[[nodiscard]] std::string draft_gain_in_words(const Json& row);

}  // namespace gpt2::cli
