#include "cli/text_json.h"

#include "cli/console.h"
#include "cli/logprob_json.h"

namespace gpt2::cli {
namespace {

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
    object["score"] = short_number(static_cast<float>(*score));
  } else {
    object["seed"] = settings.generation.sampling.seed;
    object["sequence"] = sequence;
  }
  if (settings.generation.top_logprobs) {
    object["logprobs"] = logprobs_json(tokenizer, result.tokens, result.logprobs);
  }
  if (settings.stats) object["stats"] = stats_json(result);
  return line_of(object);
}

}  // namespace gpt2::cli
