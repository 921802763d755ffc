#pragma once

#include "gpt2/model.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "model/transformer.h"
#include "support/test.h"

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

/// Random numbers that are the same with every standard library, as those of
/// std::uniform_int_distribution are not.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::size_t up_to(std::size_t most) { return random_() % (most + 1); }
  bool one_in(std::size_t n) { return up_to(n - 1) == 0; }

 private:
  std::mt19937 random_;
};

/// Compares bit by bit, so that 0 differs from -0, and a NaN equals a NaN with the same bits.
[[nodiscard]] bool same_bits(std::span<const float> a, std::span<const float> b);
[[nodiscard]] bool same_bits(const TokenLogprob& a, const TokenLogprob& b);

/// The model with its first `n_layer` blocks and its first `n_positions` positions: a smaller model
/// of the same vocabulary, which often agrees. With all blocks, it computes the same logits.
[[nodiscard]] inline Model part_of(const Model& model, std::size_t n_layer,
                                   std::size_t n_positions) {
  const auto part = std::make_shared<Transformer>(*model.transformer());
  part->config.n_layer = n_layer;
  part->config.n_positions = n_positions;
  part->blocks.erase(part->blocks.begin() + static_cast<std::ptrdiff_t>(n_layer),
                     part->blocks.end());
  part->embedding.wpe.n = n_positions;
  part->shared_engine = std::make_shared<Transformer::SharedEngine>();
  return Model(part);
}

}  // namespace gpt2::test
