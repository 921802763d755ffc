#include "support/passes.h"

#include "cli/bench/random_model.h"

namespace gpt2::test {

std::vector<Session> sessions_of(const Model& model, int threads,
                                 const std::vector<std::size_t>& capacities, KVType kv_type) {
  const Engine engine(model, {.threads = threads, .kv_type = kv_type});
  std::vector<Session> sessions;
  for (const std::size_t capacity : capacities) {
    sessions.emplace_back(engine, SessionOptions{.max_tokens = capacity});
  }
  return sessions;
}

Session session_of(const Model& model, int threads, std::size_t capacity, KVType kv_type) {
  return std::move(sessions_of(model, threads, {capacity}, kv_type).front());
}

const Model& odd_model() {
  static const Model made = random_model({.vocab_size = 203,
                                          .n_positions = 700,
                                          .n_embd = 45,
                                          .n_layer = 3,
                                          .n_head = 5,
                                          .n_inner = 97},
                                         {});
  return made;
}

std::vector<TokenId> random_tokens(const Model& model, std::size_t count, unsigned seed) {
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) {
    seed = seed * 1664525 + 1013904223;
    id = static_cast<TokenId>(seed / 65536 % model.config().vocab_size);
  }
  return ids;
}

std::vector<float> all_logits(Session& session, std::span<const TokenId> tokens) {
  std::vector<float> logits(tokens.size() * session.model().config().vocab_size);
  const Slice slice{&session, tokens, logits};
  forward(std::span(&slice, 1));
  return logits;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.empty()) return b.empty();  // memcmp must not get a null pointer
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool same_bits(const TokenLogprob& a, const TokenLogprob& b) {
  const auto same = [](float x, float y) { return same_bits(std::span(&x, 1), std::span(&y, 1)); };
  return same(a.logprob, b.logprob) && a.rank == b.rank &&
         std::ranges::equal(a.top, b.top, [&](const LikelyToken& x, const LikelyToken& y) {
           return x.id == y.id && same(x.logprob, y.logprob);
         });
}

}  // namespace gpt2::test
