#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "generate/score/score_tasks.h"
#include "gpt2/score.h"

namespace gpt2 {

/// Returns the window of `context` tokens that begins at token `begin` of a text, or fewer at the
/// end of the text. `reached` is the end of the previous window, or 0. The window's nll is 0.
[[nodiscard]] ScoredWindow window_at(std::size_t begin, std::size_t reached, std::size_t tokens,
                                     std::size_t context);

/// Returns the windows for scoring a text with this many tokens. Their nll is 0. REQUIRES: 1 <=
/// stride <= context.
[[nodiscard]] std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context,
                                                   std::size_t stride);

/// The score of a token that no window scores.
inline constexpr TokenLogprob kUnscored = {std::numeric_limits<float>::quiet_NaN(), 0, {}};

/// Adds the tasks that score these windows of `text`. The score of text[i] is written to scores[i].
void add_tasks(std::vector<ScoreTask>& tasks, std::span<const ScoredWindow> windows,
               std::span<const TokenId> text, std::span<TokenLogprob> scores);

/// Sets the nll of the windows from the scores of the tokens of the text.
void set_nll(std::span<ScoredWindow> windows, std::span<const TokenLogprob> scores);

/// The sum of the log-probabilities in double, from the first to the last.
[[nodiscard]] double sum_of_logprobs(std::span<const TokenLogprob> scores);

}  // namespace gpt2
