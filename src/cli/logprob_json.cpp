#include "cli/logprob_json.h"

#include <cmath>

namespace gpt2::cli {
namespace {

Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id, float logprob) {
  Json token = {{"id", id}};
  if (tokenizer) token["text"] = tokenizer->bytes(id);
  token["logprob"] = short_number(logprob);
  return token;
}

}  // namespace

Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                  const TokenLogprob& score) {
  Json token = likely_json(tokenizer, id, score.logprob);
  token["rank"] = std::isnan(score.logprob) ? Json() : Json(score.rank);
  Json& top = token["top"] = Json::array();
  for (const auto& [other, logprob] : score.top) {
    top.push_back(likely_json(tokenizer, other, logprob));
  }
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

}  // namespace gpt2::cli
