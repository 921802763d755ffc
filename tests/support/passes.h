#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpt2/score.h"
#include "gpt2/session.h"

namespace gpt2::test {

/// Returns sessions that can share one forward pass, which runs on `threads` threads. capacities[i]
/// is the room of session i in tokens; 0 stands for the model's n_positions.
[[nodiscard]] std::vector<Session> sessions_of(const Model& model, int threads,
                                               const std::vector<std::size_t>& capacities,
                                               KVType kv_type = KVType::automatic);

/// Returns one such session, with keys and values of the given type.
[[nodiscard]] Session session_of(const Model& model, int threads, std::size_t capacity = 0,
                                 KVType kv_type = KVType::automatic);

/// A model of random weights whose sizes are not multiples of any vector.
[[nodiscard]] const Model& odd_model();

/// Returns `count` token ids of the model's vocabulary, the same ones for each call with the same
/// seed.
[[nodiscard]] std::vector<TokenId> random_tokens(const Model& model, std::size_t count,
                                                 unsigned seed);

/// Appends the tokens in one pass and returns the logits after each of them.
[[nodiscard]] std::vector<float> all_logits(Session& session, std::span<const TokenId> tokens);

/// Compares bit by bit, so that 0 differs from -0, and a NaN equals a NaN with the same bits.
[[nodiscard]] bool same_bits(std::span<const float> a, std::span<const float> b);
[[nodiscard]] bool same_bits(const TokenLogprob& a, const TokenLogprob& b);

}  // namespace gpt2::test
