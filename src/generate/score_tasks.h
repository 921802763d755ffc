#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpt2/session.h"
#include "gpt2/token_logprob.h"

namespace gpt2 {

/// A sequence whose last tokens are to be scored.
struct ScoreTask {
  std::span<const TokenId> tokens;  ///< the sequence, read from position 0 on
  std::span<TokenLogprob> scores;   ///< receives the scores of its last tokens, at most all but one

  /// If set, a session that has computed the first tokens of the sequence, but not the one before
  /// the first token that is scored.
  const Session* prefix = nullptr;
};

/// Scores all tasks, many of them to a forward pass. A pass computes at most 256 rows of logits,
/// and begins no further task once it has 512 rows. Calls `progress`, unless it is empty, after
/// each pass with the share of the scores that are written. REQUIRES: each task's tokens, except
/// the last one, fit the model's context; all are of its vocabulary; `top` is at most the size of
/// the vocabulary.
void score_tasks(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t top,
                 const std::function<void(double share)>& progress);

}  // namespace gpt2
