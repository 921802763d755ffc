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

void add_sample(Json& record, const RecordHead& head) {
  if (head.custom_id) record["custom_id"] = *head.custom_id;
  if (head.samples == 1) return;
  record["sample"] = head.sample;
  record["samples"] = head.samples;
}

}  // namespace

std::string record_begin(std::size_t line, const std::string& id) {
  return format("{\"line\":%zu,\"id\":\"%s\",", line, id.c_str());
}

std::string error_record_begin(std::size_t line, const std::string& id) {
  return record_begin(line, id) + "\"error\":";
}

std::string record_json(const RecordHead& head, const std::optional<Tokenizer>& tokenizer,
                        std::uint64_t sequence, const std::string& text,
                        const GenerationResult& result) {
  Json record = {{"line", head.line}, {"id", head.id}};
  add_sample(record, head);
  record["prompt_tokens"] = result.prompt_tokens;
  if (head.lost_bytes != 0) record["lost_bytes"] = head.lost_bytes;
  if (head.truncated != 0) record["truncated"] = head.truncated;
  if (tokenizer) record["text"] = text;
  record["token_ids"] = result.tokens;
  record["finish_reason"] = name_of(result.finish_reason);
  record["sequence"] = sequence;
  if (!result.logprobs.empty())
    record["logprobs"] = logprobs_json(tokenizer, result.tokens, result.logprobs);
  return line_of(record);
}

std::string score_record_json(const RecordHead& head, const Json& scores) {
  Json record = {{"line", head.line}, {"id", head.id}};
  add_sample(record, head);
  if (head.lost_bytes != 0) record["lost_bytes"] = head.lost_bytes;
  record.update(scores);
  return line_of(record);
}

std::string error_record_json(const RecordHead& head, const std::string& error) {
  Json record = {{"line", head.line}, {"id", head.id}, {"error", error}};
  add_sample(record, head);
  return line_of(record);
}

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
