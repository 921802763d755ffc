#include "cli/text_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "cli/console.h"

namespace gpt2::cli {
namespace {

// Like ordered_json, but its numbers are floats, as log-probabilities are. A float that is written
// as a double has 17 digits, of which the last 8 say nothing.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                                  std::int64_t, std::uint64_t, float>;

Json stats_json(const GenerationResult& result) {
  Json stats = {{"prompt_seconds", result.prompt_seconds},
                {"generation_seconds", result.generation_seconds},
                {"drafted_tokens", result.drafted_tokens},
                {"accepted_tokens", result.accepted_tokens},
                {"logits_hash", nullptr}};
  if (result.logits_hash != 0) {  // it is 0 if there were no logits to hash
    stats["logits_hash"] = hash_text(result.logits_hash);
  }
  return stats;
}

Json token_json(const std::optional<Tokenizer>& tokenizer, TokenId id, float logprob) {
  Json token = {{"id", id}};
  if (tokenizer) token["text"] = tokenizer->bytes(id);
  token["logprob"] = logprob;
  return token;
}

Json logprobs_json(const std::optional<Tokenizer>& tokenizer, const GenerationResult& result) {
  Json tokens = Json::array();
  for (std::size_t i = 0; i < result.logprobs.size(); ++i) {
    const TokenLogprob& score = result.logprobs[i];
    Json& token = tokens.emplace_back(token_json(tokenizer, result.tokens[i], score.logprob));
    token["rank"] = score.rank;
    Json& top = token["top"] = Json::array();
    for (const auto& [id, logprob] : score.top) top.push_back(token_json(tokenizer, id, logprob));
  }
  return tokens;
}

}  // namespace

std::string text_json(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                      const Prompt& prompt, std::uint64_t sequence, const std::string& text,
                      const GenerationResult& result, std::optional<double> score) {
  Json object = {{"model", settings.model.string()}};
  if (tokenizer) object["prompt"] = prompt.text;
  object["prompt_token_ids"] = prompt.tokens;
  if (tokenizer) object["text"] = text;
  object["token_ids"] = result.tokens;
  object["finish_reason"] = name_of(result.finish_reason);
  if (score) {
    object["score"] = *score;
  } else {
    object["seed"] = settings.generation.sampling.seed;
    object["sequence"] = sequence;
  }
  if (settings.generation.top_logprobs) object["logprobs"] = logprobs_json(tokenizer, result);
  if (settings.stats) object["stats"] = stats_json(result);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace gpt2::cli
