#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpt2/model.h"

namespace gpt2 {

/// What two models, a and b, say of the tokens that one window scores.
struct WindowScore {
  std::size_t tokens = 0;  ///< how many
  double nll[2] = {};      ///< the sum of -log p(token) over them, by a and by b, in nats
};

/// How well two models of one vocabulary predict a text, and how far apart they are.
struct Comparison {
  std::size_t tokens = 0;   ///< scored: all but the first
  std::size_t windows = 0;  ///< in which they were scored
  double perplexity[2] = {};
  double change = 0.0;          ///< perplexity[1] / perplexity[0] - 1
  double standard_error = 0.0;  ///< of `change`, over windows; NaN for a single window
  double largest_logit_change = 0.0;
};

/// Sums up windows, of which there must be one or more; leaves largest_logit_change at 0.
///
/// Window w scores n_w tokens, N in all, and d_w = nll_b - nll_a is the difference on them. Both
/// models score the same tokens, so that a window which is hard to predict is hard for both: only
/// the differences vary, and the models can be told apart on far less text than the perplexities
/// themselves would need. With
///
///   D = sum d_w / N = log(perplexity_b / perplexity_a)
///
/// the change is exp(D) - 1. D is a ratio of sums over windows, for windows differ in length; with
/// W windows the variance of such a ratio is estimated by (Cochran, Sampling Techniques, 6.4)
///
///   SE(D)^2 = W / (W - 1) * sum (d_w - D n_w)^2 / N^2
///
/// which is, where all windows are of one length, the familiar variance of the mean of the
/// per-window means m_w = d_w / n_w: sum (m_w - D)^2 / (W (W - 1)). The derivative of exp(D) - 1
/// carries it over to the change: SE(change) = exp(D) SE(D).
[[nodiscard]] Comparison summarize(std::span<const WindowScore> windows);

/// Scores the tokens with both models in windows of as many tokens as the shorter context of the
/// two has positions (n_positions), or all if the text is shorter. Each window begins half a window
/// after the one before, and the last one ends with the text. A window scores the tokens that the
/// one before did not reach: the first window all but its first token, which nothing predicts, the
/// others their second half (the last one perhaps less). So every token is scored once, and from
/// the second window on with half a window or more of text before it.
///
/// Calls progress, not empty, after each window with the share of tokens, up to 1, that are scored.
/// Throws Error(invalid_argument), before any work, for fewer than two tokens or positions, for
/// vocabularies that differ in size, and for a token outside the vocabulary.
[[nodiscard]] Comparison compare(const Model& a, const Model& b, std::span<const TokenId> tokens,
                                 const std::function<void(double share)>& progress);

}  // namespace gpt2
