#include "generate/generation_config.h"

#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include "model/config_fields.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Keys that change what is generated and are not implemented; 0, or 1, makes those of the first two
// lists do nothing, and null, false or an empty list any of them.
constexpr const char* kNeutralAtZero[] = {
    "min_length", "min_new_tokens", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "min_p",      "epsilon_cutoff", "eta_cutoff",           "penalty_alpha"};
constexpr const char* kNeutralAtOne[] = {"num_beams",
                                         "num_beam_groups",
                                         "num_return_sequences",
                                         "repetition_penalty",
                                         "encoder_repetition_penalty",
                                         "typical_p",
                                         "guidance_scale"};
constexpr const char* kNeverNeutral[] = {"max_time",
                                         "forced_bos_token_id",
                                         "forced_eos_token_id",
                                         "bad_words_ids",
                                         "force_words_ids",
                                         "constraints",
                                         "suppress_tokens",
                                         "begin_suppress_tokens",
                                         "sequence_bias",
                                         "exponential_decay_length_penalty",
                                         "stop_strings",
                                         "remove_invalid_values",
                                         "watermarking_config",
                                         "token_healing",
                                         "dola_layers"};

void refuse(const ConfigFields& fields, std::span<const char* const> keys, double neutral) {
  for (const char* key : keys) {
    const json* const value = fields.find(key);
    const bool does_nothing = value == nullptr || *value == false ||
                              (value->is_structured() && value->empty()) ||
                              (value->is_number() && value->get<double>() == neutral);
    if (does_nothing) continue;
    fields.fail(std::string(key) + " is " + shown(*value) + ", which is not implemented",
                ErrorCode::unsupported);
  }
}

}  // namespace

GenerationConfig GenerationConfig::load(const std::filesystem::path& directory) {
  std::filesystem::path file = directory / "generation_config.json";
  std::error_code none;
  if (!std::filesystem::exists(file, none)) file = directory / "config.json";
  return parse(read_file(file, ConfigFields::kMaxFileBytes), file.string());
}

GenerationConfig GenerationConfig::parse(std::string_view text, std::string_view where) {
  json object = parse_json(text, where);
  const ConfigFields fields(object, where);
  refuse(fields, kNeutralAtZero, 0.0);
  refuse(fields, kNeutralAtOne, 1.0);
  refuse(fields, kNeverNeutral, std::numeric_limits<double>::quiet_NaN());
  for (auto item = object.begin(); item != object.end();) {
    item = item->is_null() ? object.erase(item) : std::next(item);  // as good as absent
  }
  GenerationConfig config;
  fields.read("do_sample", config.do_sample);
  fields.read("temperature", config.temperature, 100.0f);
  fields.read("top_p", config.top_p, 1.0f);
  fields.read("top_k", config.top_k);
  fields.read("max_length", config.max_length);
  if (fields.find("max_new_tokens") != nullptr) {
    fields.read("max_new_tokens", config.max_new_tokens.emplace());
  }
  return config;
}

}  // namespace gpt2
