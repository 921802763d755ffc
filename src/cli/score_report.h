#pragma once

#include <string>

#include "cli/records.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// Returns the result of `score` as JSON: the numbers of Perplexity, each with its standard error.
/// Numbers by word and by byte are null without a tokenizer, and standard errors are null if there
/// is a single window.
[[nodiscard]] Json perplexity_json(const Perplexity& found, const ScoreOptions& options);

/// Returns the same as lines of text.
[[nodiscard]] std::string perplexity_in_words(const Perplexity& found, const ScoreOptions& options);

/// Returns the scores of the choices as JSON, and the indices of the best ones. bytes[i] is the
/// length of choice i; there are none without a tokenizer.
[[nodiscard]] Json choices_json(std::span<const ChoiceScore> scores,
                                std::span<const std::size_t> bytes);

}  // namespace gpt2::cli
