#pragma once

#include <cstddef>
#include <span>

#include "gpt2/perplexity.h"

namespace gpt2 {

/// What two models, a and b, say of the tokens that one window scores.
struct WindowScore {
  std::size_t tokens = 0;  ///< how many
  double nll[2] = {};      ///< the sum of -log p(token) over them, by a and by b, in nats
};

/// Sums up windows, of which there must be one or more; leaves max_logit_change at 0.
///
/// Window w scores n_w tokens, N in all, and d_w = nll_b - nll_a is the difference on them. Both
/// models score the same tokens, so that a window which is hard to predict is hard for both: only
/// the differences vary, and the models can be told apart on far less text than the perplexities
/// themselves would need. With
///
///   D = sum d_w / N = log(perplexity_b / perplexity_a)
///
/// the change is exp(D) - 1. ratio_of_sums() estimates the standard error of D, and the derivative
/// of exp(D) - 1 carries it over to the change: SE(change) = exp(D) SE(D).
[[nodiscard]] PerplexityComparison summarize(std::span<const WindowScore> windows);

}  // namespace gpt2
