#include "cli/text_json.h"

#include <nlohmann/json.hpp>

#include "cli/console.h"

namespace gpt2::cli {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string text_json(const GenerateSettings& settings, const Prompt& prompt,
                      const std::string& text, const GenerationResult& result) {
  Json object = {{"model", settings.model.string()}};
  if (!settings.tokens) object["prompt"] = prompt.text;
  object["prompt_token_ids"] = prompt.tokens;
  if (!settings.tokens) object["text"] = text;
  object["token_ids"] = result.tokens;
  object["finish_reason"] = name_of(result.finish_reason);
  object["seed"] = settings.generation.sampling.seed;
  if (settings.stats) object["stats"] = stats_json(result);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace gpt2::cli
