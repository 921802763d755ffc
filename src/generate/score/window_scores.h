#pragma once

#include <cstddef>
#include <span>

#include "gpt2/score.h"

namespace gpt2 {

/// The scores of two models, a and b, for the tokens that one window scores.
struct WindowScore {
  std::size_t tokens = 0;  ///< the number of these tokens
  double nll[2] = {};      ///< the sum of -log p(token) over these tokens for a and for b, in nats
};

/// Computes the comparison from the scores of all windows, except max_logit_change, which is 0.
/// REQUIRES: there is at least one window.
///
/// Window w scores n_w tokens, all windows together score N tokens, and d_w = nll_b - nll_a is the
/// difference for window w. Both models score the same tokens, so a window that is hard to predict
/// is hard for both, and d_w varies much less than nll_a and nll_b. The difference between the
/// models is therefore significant with far less text than the perplexities alone would need. With
///
///   D = sum d_w / N = log(perplexity_b / perplexity_a)
///
/// the change is exp(D) - 1. ratio_of_sums() estimates the standard error of D, and the derivative
/// of exp(D) - 1 carries it over to the change: SE(change) = exp(D) SE(D).
[[nodiscard]] PerplexityComparison summarize(std::span<const WindowScore> windows);

}  // namespace gpt2
