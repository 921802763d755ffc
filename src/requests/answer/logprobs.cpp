#include "requests/answer/logprobs.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace gpt2 {

Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id, float logprob) {
  Json token = {{"id", id}};
  if (tokenizer) token.add("text", tokenizer->bytes(id));
  token.add("logprob", logprob);
  return token;
}

Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                  const TokenLogprob& score) {
  Json token = likely_json(tokenizer, id, score.logprob);
  token.add("rank", std::isnan(score.logprob) ? Json() : Json(score.rank));
  Json top = Json::array();
  for (const auto& [other, logprob] : score.top) {
    top.push_back(likely_json(tokenizer, other, logprob));
  }
  token.add("top", top);
  return token;
}

Json logprobs_json(const std::optional<Tokenizer>& tokenizer, std::span<const TokenId> tokens,
                   std::span<const TokenLogprob> scores) {
  Json list = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    list.push_back(logprob_json(tokenizer, tokens[i], scores[i]));
  }
  return list;
}

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace gpt2
