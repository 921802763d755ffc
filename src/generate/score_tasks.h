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
  const Session* prefix = nullptr;  ///< if set, has computed tokens before the first scored one's
                                    ///< predecessor: the first tokens of the sequence
};

/// Scores all tasks in as few forward passes as possible. A pass has pieces of several tasks, at
/// most 128 rows of logits, and takes no task beyond 512 rows. Calls on_pass after each pass with
/// the number of scores that are written. REQUIRES: the tasks' tokens, but for the last of each,
/// fit the model's context; all are of its vocabulary; `top` is at most the size of that.
void score_tasks(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t top,
                 const std::function<void(std::size_t written)>& on_pass);

}  // namespace gpt2
