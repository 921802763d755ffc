#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpt2/score.h"
#include "gpt2/session.h"

namespace gpt2 {

struct ScoredTokens {
  std::span<const TokenId> tokens;
  std::span<TokenLogprob> scores;  ///< of the same size: receives their scores
};

/// A context, and continuations of it. The context is computed once, and each continuation is
/// scored as if there were no other.
struct ScoreTask {
  std::span<const TokenId> context;  ///< read from position 0 on
  std::vector<ScoredTokens> continuations;
};

/// Scores all tasks; many of them share a forward pass. A pass computes at most 256 rows of logits,
/// and no further task is added to it once it has 512 rows, or once the sessions take memory for
/// 2,048 tokens. Calls `progress`, unless it is empty, after each pass with the share of the scores
/// that have been written. REQUIRES: each context and each continuation has a token; the context
/// and any one continuation without its last token fit the model's context; all tokens are in the
/// model's vocabulary; `top` is at most the size of the vocabulary.
void score_tasks(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t top,
                 const std::function<void(double share)>& progress);

/// Returns the windows for scoring a text with this many tokens. Their nll is 0. REQUIRES: 1 <=
/// stride <= context.
[[nodiscard]] std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context,
                                                   std::size_t stride);

}  // namespace gpt2
