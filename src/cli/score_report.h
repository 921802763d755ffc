#pragma once

#include <string>

#include "cli/records.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// Returns what `score` found as JSON: the numbers of Perplexity, each with its standard error.
/// What does not exist is null: numbers by word and byte without a tokenizer, and the standard
/// errors of a single window.
[[nodiscard]] Json perplexity_json(const Perplexity& found, const ScoreOptions& options);

/// Returns the same as lines of text.
[[nodiscard]] std::string perplexity_in_words(const Perplexity& found, const ScoreOptions& options);

/// Returns the scores of the choices as JSON, and the indices of the best ones. bytes[i] is the
/// length of choice i; there are none without a tokenizer.
[[nodiscard]] Json choices_json(std::span<const ChoiceScore> scores,
                                std::span<const std::size_t> bytes);

}  // namespace gpt2::cli
