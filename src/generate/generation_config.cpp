#include "gpt2/generation_config.h"

#include <limits>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/paths.h"
#include "base/read_file.h"
#include "gpt2/sampler.h"
#include "model/config_json.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Keys that would change the text and are not implemented, each with the number that makes it do
// nothing. null, false and empty lists and objects do nothing for any of them.
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::pair<const char*, double> kNotImplemented[] = {
    {"min_length", 0}, {"min_new_tokens", 0}, {"no_repeat_ngram_size", 0},
    {"encoder_no_repeat_ngram_size", 0}, {"min_p", 0}, {"epsilon_cutoff", 0}, {"eta_cutoff", 0},
    {"penalty_alpha", 0}, {"num_beams", 1}, {"num_beam_groups", 1}, {"num_return_sequences", 1},
    {"repetition_penalty", 1}, {"encoder_repetition_penalty", 1}, {"typical_p", 1},
    {"guidance_scale", 1}, {"max_time", kNone}, {"forced_bos_token_id", kNone},
    {"forced_eos_token_id", kNone}, {"bad_words_ids", kNone}, {"force_words_ids", kNone},
    {"constraints", kNone}, {"suppress_tokens", kNone}, {"begin_suppress_tokens", kNone},
    {"sequence_bias", kNone}, {"exponential_decay_length_penalty", kNone}, {"stop_strings", kNone},
    {"remove_invalid_values", kNone}, {"watermarking_config", kNone}, {"token_healing", kNone},
    {"dola_layers", kNone},
};

bool does_nothing(const json& value, double neutral) {
  return value == false || (value.is_structured() && value.empty()) ||
         (value.is_number() && value.get<double>() == neutral);
}

}  // namespace

GenerationConfig GenerationConfig::load(const std::filesystem::path& path) {
  const std::filesystem::path directory = directory_of(path);
  std::filesystem::path file = directory / "generation_config.json";
  if (!is_there(file)) file = directory / "config.json";
  return parse(read_file(file, kMaxConfigBytes), file.string());
}

GenerationConfig GenerationConfig::parse(std::string_view text, std::string_view where) {
  const json object = parse_json(text, where);
  const JsonFields fields(object, std::string(where));
  for (const auto& [key, neutral] : kNotImplemented) {
    const json* const value = fields.find(key);
    if (!value || does_nothing(*value, neutral)) continue;
    fail(ErrorCode::unsupported, fields.where(), key, " is ", shown(*value),
         ", which is not implemented; remove it from the file, or do without --hf-defaults");
  }
  GenerationConfig config;
  fields.read("do_sample", config.do_sample);
  fields.read("temperature", config.temperature, 100.0f);
  if (config.temperature < SamplingOptions::kMinTemperature) config.temperature = 0.0f;
  fields.read("top_p", config.top_p, 1.0f);
  fields.read("top_k", config.top_k);
  fields.read("max_length", config.max_length);
  if (fields.find("max_new_tokens")) fields.read("max_new_tokens", config.max_new_tokens.emplace());
  return config;
}

}  // namespace gpt2
