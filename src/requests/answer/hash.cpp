#include "requests/answer/hash.h"

#include <algorithm>
#include <span>
#include <vector>

#include "gpt2/session.h"

namespace gpt2 {

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t hash) noexcept {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::uint64_t hash_of_model(const Engine& engine, const std::optional<Tokenizer>& tokenizer) {
  const Config& config = engine.model().config();
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, config.n_positions); ++i) {
    ids.push_back(static_cast<TokenId>(i % config.vocab_size));
  }
  Session session(engine, {.max_tokens = ids.size()});
  const std::span<const float> logits = session.forward(ids);
  std::uint64_t hash = hash_bytes(config.to_json());
  hash = hash_bytes({reinterpret_cast<const char*>(logits.data()), logits.size_bytes()}, hash);
  for (std::size_t id = 0; tokenizer && id < tokenizer->size(); ++id) {
    const auto bytes = tokenizer->bytes(static_cast<TokenId>(id));
    hash = hash_bytes(bytes, hash_bytes(std::to_string(bytes.size()), hash));
  }
  return hash;
}

std::string hash_text(std::uint64_t hash) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

}  // namespace gpt2
