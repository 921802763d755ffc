#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpt2/model.h"

namespace gpt2 {

/// How well two models of one vocabulary predict a text, and how far apart they are.
struct Comparison {
  std::size_t tokens = 0;  ///< scored: all but the first
  double perplexity[2] = {};
  double largest_logit_change = 0.0;
};

/// Scores tokens in windows of n_positions, each beginning half a window after the one before, so
/// that every token but the first window's is scored with half a window or more before it. Throws
/// Error(invalid_argument) for fewer than two tokens or positions, or vocabularies that differ.
/// Calls progress, not empty, after each window with the share of tokens, up to 1, that are scored.
[[nodiscard]] Comparison compare(const Model& a, const Model& b, std::span<const TokenId> tokens,
                                 const std::function<void(double share)>& progress);

}  // namespace gpt2
