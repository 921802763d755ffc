#include "requests/own_form.h"

#include <nlohmann/json.hpp>

#include "requests/hash.h"

namespace gpt2 {

Json stats_json(const GenerationResult& result) {
  Json stats = {{"prompt_seconds", result.prompt_seconds},
                {"generation_seconds", result.generation_seconds},
                {"drafted_tokens", result.drafted_tokens},
                {"accepted_tokens", result.accepted_tokens},
                {"logits_hash", nullptr}};
  if (result.logits_hash != 0) stats["logits_hash"] = hash_text(result.logits_hash);
  return stats;
}

void add_text(Json& record, const CompletionRequest& request,
              const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice,
              bool with_seed) {
  const GenerationResult& result = choice.result;
  if (tokenizer) record["text"] = choice.text;
  record["token_ids"] = result.tokens;
  record["finish_reason"] = name_of(result.finish_reason);
  if (choice.score) {
    record["score"] = short_number(static_cast<float>(*choice.score));
  } else {
    if (with_seed) record["seed"] = request.options.sampling.seed;
    record["sequence"] = request.options.sampling.sequence + choice.index;
  }
  if (request.options.top_logprobs) {
    record["logprobs"] = logprobs_json(tokenizer, result.tokens, result.logprobs);
  }
}

Json own_json(const CompletionRequest& request, const std::optional<Tokenizer>& tokenizer,
              const std::vector<CompletedPrompt>& prompts) {
  Json list = Json::array();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (const CompletionChoice& choice : prompts[i].choices) {
      Json& record = list.emplace_back(Json::object());
      if (prompts.size() > 1) record["prompt"] = i;
      record["prompt_tokens"] = prompts[i].prompt.tokens.size();
      if (request.lost_bytes != 0) record["lost_bytes"] = request.lost_bytes;
      if (request.truncated != 0) record["truncated"] = request.truncated;
      add_text(record, request, tokenizer, choice);
      record["stats"] = stats_json(choice.result);
    }
  }
  return list;
}

}  // namespace gpt2
