#include "requests/answer/own_form.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "generate/options/option_codec.h"
#include "gpt2/engine.h"
#include "gpt2/option_fields.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "model/loading/config_json.h"
#include "requests/read/options.h"

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
        Json record = Json::object();
        if (prompts.size() > 1) record.add("prompt", i);
        add_completion(record, request, tokenizer_, choice);
        record.add("stats", stats_json(choice.result));
        list.push_back(record);
      }
    }
    return list;
  }

 private:
  const std::optional<Tokenizer> tokenizer_;
};

// In the order of OptionRole and OptionOrigin.
constexpr const char* kRoles[] = {"draws",        "limits_length", "penalizes",
                                  "names_tokens", "searches",      "reports"};
constexpr const char* kOrigins[] = {"huggingface", "openai", "own"};

// Returns the struct with these options: that of a request, or one that has its own defaults.
template <class Part>
Part part_of(const GenerationOptions& options) {
  if constexpr (std::is_same_v<Part, GenerationOptions>) {
    return options;
  } else if constexpr (std::is_same_v<Part, SamplingOptions>) {
    return options.sampling;
  } else {
    return {};
  }
}

template <class Options, class T>
Options options_of(const OptionField<Options, T>&);  // not defined: for decltype

template <class Field, class Values>
Json row_json(const Field& of_table, const nlohmann::json& defaults, const Values& built_in,
              const Values& of_command) {
  using T = typename Field::Value;
  const Field field = of_requests(of_table);
  const OptionForm form = OptionCodec<T>::form(field.range);
  Json row = {{"name", field.name},
              {"role", kRoles[static_cast<std::size_t>(field.role)]},
              {"origin", kOrigins[static_cast<std::size_t>(field.origin)]},
              {"type", form.type}};
  if constexpr (std::is_enum_v<T>) {
    Json choices = Json::array();
    for (std::size_t i = 0; i < kNamesOf<T>.size(); ++i) {
      choices.push_back(OptionCodec<T>::write(static_cast<T>(i)));
    }
    row.add("choices", choices);
  }
  if (form.word == "N") {
    row.add("min", field.range.min);
    row.add("max", field.range.max);
    row.add("also", field.range.also);
  }
  row.add("in_search", effect_of(field).in_search);
  row.add("in_drawing", effect_of(field).in_drawing);
  row.add("form", form.json);
  const auto given = defaults.find(field.name);
  row.add("default",
          given != defaults.end() ? Json(*given) : OptionCodec<T>::write(built_in.*field.member));
  row.add("command_default", OptionCodec<T>::write(of_command.*field.member));
  row.add("help", field.help);
  return row;
}

}  // namespace

Json stats_json(const GenerationResult& result) {
  return {{"prompt_seconds", result.prompt_seconds},
          {"generation_seconds", result.generation_seconds},
          {"drafted_tokens", result.drafted_tokens},
          {"accepted_tokens", result.accepted_tokens},
          {"logits_hash", result.logits_hash != 0 ? Json(hash_text(result.logits_hash)) : Json()}};
}

void add_text(Json& record, const CompletionRequest& request,
              const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice,
              bool with_seed) {
  const GenerationResult& result = choice.result;
  if (tokenizer) record.add("text", choice.text);
  record.add("token_ids", result.tokens);
  record.add("finish_reason", name_of(result.finish_reason));
  if (choice.score) {
    record.add("score", static_cast<float>(*choice.score));
  } else {
    if (with_seed) record.add("seed", request.options.sampling.seed);
    record.add("sequence", request.options.sampling.sequence + choice.index);
  }
  if (request.options.top_logprobs) {
    record.add("logprobs", logprobs_json(tokenizer, drawn_tokens(result), result.logprobs));
  }
}

void add_completion(Json& record, const CompletionRequest& request,
                    const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice) {
  record.add("prompt_tokens", choice.result.prompt_tokens);
  if (request.lost_bytes != 0) record.add("lost_bytes", request.lost_bytes);
  if (request.truncated != 0) record.add("truncated", request.truncated);
  add_text(record, request, tokenizer, choice, request.draws_seed);
}

std::unique_ptr<AnswerForm> own_form(AnswerHead, const std::optional<Tokenizer>& tokenizer,
                                     const CompletionRequest&) {
  return std::make_unique<OwnAnswer>(tokenizer);
}

Json model_json(const Model& model) {
  const ModelDescription& description = model.description();
  const Config& config = model.config();
  const KVType kv_type = resolved(KVType::automatic, model.weight_type());
  return {{"config", config_tree(config).root},
          {"format", description.format},
          {"parameters", model.parameter_count()},
          {"tensors", description.tensors},
          {"ignored", description.ignored},
          {"dtypes", description.dtypes},
          {"dtype", name_of(model.weight_type())},
          {"kv_type", name_of(kv_type)},
          {"memory",
           {{"mapped_weights_bytes", description.mapped_bytes},
            {"converted_weights_bytes", description.converted_bytes},
            {"keys_and_values_bytes", Session::memory_bytes(config, kv_type, config.n_positions)},
            {"workspace_bytes", Engine::memory_bytes(config, thread_count())},
            {"read_for_each_token_bytes", model.bytes_per_token()}}},
          {"warnings", description.warnings}};
}

Json option_list(bool is_own, const nlohmann::json& defaults) {
  const GenerationOptions built_in = request_defaults(is_own), of_command = request_defaults();
  Json rows = Json::array();
  for_each_option([&](const auto& field) {
    using Values = decltype(options_of(field));
    rows.push_back(
        row_json(field, defaults, part_of<Values>(built_in), part_of<Values>(of_command)));
  });
  return rows;
}

}  // namespace gpt2
