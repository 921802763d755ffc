#include "requests/answer/own_form.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "generate/options/option_codec.h"
#include "gpt2/option_fields.h"

namespace gpt2 {
namespace {

class OwnAnswer : public AnswerForm {
 public:
  explicit OwnAnswer(std::optional<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  [[nodiscard]] Json whole(const CompletionRequest& request,
                           const std::vector<CompletedPrompt>& prompts) const override {
    Json list = Json::array();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      for (const CompletionChoice& choice : prompts[i].choices) {
        Json& record = list.emplace_back(Json::object());
        if (prompts.size() > 1) record["prompt"] = i;
        add_completion(record, request, tokenizer_, choice);
        record["stats"] = stats_json(choice.result);
      }
    }
    return list;
  }

 private:
  const std::optional<Tokenizer> tokenizer_;
};

}  // namespace

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

void add_completion(Json& record, const CompletionRequest& request,
                    const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice) {
  record["prompt_tokens"] = choice.result.prompt_tokens;
  if (request.lost_bytes != 0) record["lost_bytes"] = request.lost_bytes;
  if (request.truncated != 0) record["truncated"] = request.truncated;
  add_text(record, request, tokenizer, choice, request.draws_seed);
}

std::unique_ptr<AnswerForm> own_form(AnswerHead, const std::optional<Tokenizer>& tokenizer,
                                     const CompletionRequest&) {
  return std::make_unique<OwnAnswer>(tokenizer);
}

Json request_json(const GenerationConfig& config) {
  Json result = Json::object();
  const bool searches = config.beams.num_beams > 1;
  const auto add = [&result](const auto& field, const auto& options, const auto& defaults) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const nlohmann::json value = Codec::write(options.*field.member);
    if (value != Codec::write(defaults.*field.member)) result[field.name] = value;
  };
  result["do_sample"] = config.do_sample;
  for_each_sampling_field([&](const auto& field) {
    const bool is_unused = field.role == OptionRole::draws && !config.do_sample;
    if (!is_unused) add(field, config.sampling, request_defaults().sampling);
  });
  if (searches) {
    for_each_beam_field([&](const auto& field) { add(field, config.beams, BeamOptions()); });
  } else if (config.num_return_sequences != 1) {
    result["num_return_sequences"] = config.num_return_sequences;
  }
  if (config.max_new_tokens) {
    result["max_new_tokens"] = *config.max_new_tokens;
  } else {
    result["max_length"] = config.max_length;
  }
  return result;
}

}  // namespace gpt2
