#pragma once

#include <cstddef>

#include "cli/bench_report.h"
#include "gpt2/engine.h"

namespace gpt2::cli {

/// The number of positions that draft_gain() needs.
inline constexpr std::size_t kDraftGainTokens = 32;

/// How many plain passes take about as long as a repetition of draft_gain().
inline constexpr double kDraftGainPasses = 60.0;

/// Measures what speculative decoding with an int4 copy of a model would gain, and returns a row
/// for bench_row(): the median times, in seconds, of a plain pass ("plain_seconds"), of drafting a
/// token
/// ("draft_seconds") and of checking 1, 2, ... drafted tokens in one pass ("check_seconds"); and as
/// "gains", for shares of 70, 80 and 90 % of drafted tokens that the model accepts ("accepted"),
/// how many tokens to draft at a time ("drafted") and how many times as fast as plain passes that
/// is
/// ("gain"). Random weights cannot tell which share a real model accepts.
///
/// `draft` computes with the int4 copy. REQUIRES: both engines have the same sizes, and
/// kDraftGainTokens positions or more.
[[nodiscard]] Json draft_gain(const Engine& engine, const Engine& draft, std::size_t repetitions);

/// The same row in words, with a newline.
[[nodiscard]] std::string draft_gain_in_words(const Json& row);

}  // namespace gpt2::cli
