#include "gpt2/generation_config.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/paths.h"
#include "base/read_file.h"
#include "generate/beams/check_beams.h"
#include "generate/processors/processor.h"
#include "model/config_json.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Keys that would change the text and are not implemented, each with the number for which it has no
// effect. With null, false, or an empty list or object, none of them has an effect.
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::pair<const char*, double> kNotImplemented[] = {
    {"encoder_no_repeat_ngram_size", 0},
    {"penalty_alpha", 0},
    {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1},
    {"max_time", kNone},
    {"force_words_ids", kNone},
    {"constraints", kNone},
    {"forced_decoder_ids", kNone},
    {"stop_strings", kNone},
    {"watermarking_config", kNone},
    {"token_healing", kNone},
    {"dola_layers", kNone},
};

constexpr const char* kAdvice = ", which is not implemented; remove it from the file";

bool does_nothing(const json& value, double neutral) {
  return value == false || (value.is_structured() && value.empty()) ||
         (value.is_number() && value.get<double>() == neutral);
}

// Each of these functions returns nothing if the value does not have the expected form.
std::optional<TokenId> to_id(const json& value) {
  const bool is_id = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() <= std::numeric_limits<TokenId>::max();
  return is_id ? std::optional(value.get<TokenId>()) : std::nullopt;
}

std::optional<std::vector<TokenId>> to_ids(const json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<TokenId> ids;
  for (const json& element : value) {
    const auto id = to_id(element);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

std::optional<std::vector<TokenId>> to_id_or_ids(const json& value) {
  if (const auto id = to_id(value)) return std::vector{*id};
  return to_ids(value);
}

std::optional<std::vector<TokenId>> to_sequence(const json& value) {
  auto ids = to_ids(value);
  return ids && !ids->empty() ? std::move(ids) : std::nullopt;
}

std::optional<SequenceBias> to_bias(const json& value) {
  if (!value.is_array() || value.size() != 2 || !value[1].is_number()) return std::nullopt;
  auto ids = to_sequence(value[0]);
  const double bias = value[1].get<double>();
  if (!ids || std::abs(bias) > double{std::numeric_limits<float>::max()}) return std::nullopt;
  return SequenceBias{.ids = std::move(*ids), .bias = static_cast<float>(bias)};
}

std::optional<ExponentialDecay> to_decay(const json& value) {
  const bool is_decay = value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
                        value[1].is_number();
  if (!is_decay) return std::nullopt;
  return ExponentialDecay{.start = value[0].get<std::size_t>(), .factor = value[1].get<double>()};
}

std::optional<double> to_number(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<EarlyStopping> to_early_stopping(const json& value) {
  if (is_text(value, "never")) return EarlyStopping::never;
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
}

// Sets `field` to convert(value of the key). Leaves it unchanged if the key is absent.
template <class Field, class Convert>
void read(const JsonFields& fields, const char* key, Field& field, Convert convert,
          const char* expected) {
  const json* const value = fields.find(key);
  if (value == nullptr) return;
  auto converted = convert(*value);
  if (!converted) fields.refuse(key, expected);
  field = std::move(*converted);
}

// The same for an array: appends convert(element) for each of its elements.
template <class Element, class Convert>
void read_all(const JsonFields& fields, const char* key, std::vector<Element>& field,
              Convert convert, const char* expected) {
  const json* const value = fields.find(key);
  if (value == nullptr) return;
  if (!value->is_array()) fields.refuse(key, expected);
  for (const json& element : *value) {
    auto converted = convert(element);
    if (!converted) fields.refuse(key, expected);
    field.push_back(std::move(*converted));
  }
}

void read_filters(const JsonFields& fields, SamplingOptions& options) {
  fields.read("top_p", options.top_p, 1.0f);
  fields.read("top_k", options.top_k);
  fields.read("min_p", options.min_p, 1.0f);
  fields.read("typical_p", options.typical_p, 1.0f);
  fields.read("epsilon_cutoff", options.epsilon_cutoff, 1.0f);
  fields.read("eta_cutoff", options.eta_cutoff, 1.0f);
}

void read_processors(const JsonFields& fields, SamplingOptions& options) {
  const char* const ids = "an array of token ids";
  read_all(fields, "sequence_bias", options.sequence_bias, to_bias,
           "an array of pairs [[token id, ...], bias]");
  fields.read("repetition_penalty", options.repetition_penalty, SamplingOptions::kMaxPenalty);
  fields.read("no_repeat_ngram_size", options.no_repeat_ngram_size);
  read_all(fields, "bad_words_ids", options.bad_words_ids, to_sequence,
           "an array of arrays of token ids, none of them empty");
  fields.read("min_length", options.min_length);
  fields.read("min_new_tokens", options.min_new_tokens);
  read(fields, "forced_bos_token_id", options.forced_bos_token_id, to_id, "a token id");
  read(fields, "forced_eos_token_id", options.forced_eos_token_id, to_id_or_ids,
       "a token id or an array of token ids");
  fields.read("remove_invalid_values", options.remove_invalid_values);
  read(fields, "exponential_decay_length_penalty", options.exponential_decay_length_penalty,
       to_decay, "[start, factor]");
  read(fields, "suppress_tokens", options.suppress_tokens, to_ids, ids);
  read(fields, "begin_suppress_tokens", options.begin_suppress_tokens, to_ids, ids);
  fields.read("renormalize_logits", options.renormalize_logits);
}

// Reads diversity_penalty and pad_token_id only if there are groups, because HuggingFace ignores
// them otherwise.
void read_beams(const JsonFields& fields, GenerationConfig& config) {
  BeamOptions& beams = config.beams;
  fields.read("num_beams", beams.num_beams);
  fields.read("num_return_sequences", beams.num_return_sequences, 1, GenerationConfig::kMaxSamples);
  read(fields, "length_penalty", beams.length_penalty, to_number, "a number");
  read(fields, "early_stopping", beams.early_stopping, to_early_stopping,
       "true, false or \"never\"");
  fields.read("num_beam_groups", beams.num_beam_groups);
  if (beams.num_beam_groups > 1) {
    fields.read("diversity_penalty", beams.diversity_penalty, BeamOptions::kMaxDiversityPenalty);
    read(fields, "pad_token_id", beams.pad_token_id, to_id, "a token id");
  }
  if (beams.num_beams == 1 && beams.num_return_sequences > 1) {
    config.num_return_sequences = std::exchange(beams.num_return_sequences, 1);
    if (!config.do_sample) {
      fail(ErrorCode::unsupported, fields.where(), "num_return_sequences is ",
           config.num_return_sequences,
           ", but without do_sample and beams all texts are the same; remove it from the file");
    }
  }
  if (beams.num_beams > 1 && config.do_sample) {
    fail(ErrorCode::unsupported, fields.where(), "num_beams is ", beams.num_beams,
         " and do_sample is true, which is not implemented together; remove one of them from the "
         "file");
  }
}

}  // namespace

GenerationConfig GenerationConfig::load(const std::filesystem::path& path) {
  const std::filesystem::path directory = directory_of(path);
  std::filesystem::path file = directory / "generation_config.json";
  if (!is_there(file)) file = directory / "config.json";
  return parse(read_file(file, kMaxConfigBytes), file.string());
}

GenerationConfig GenerationConfig::parse(std::string_view text, std::string_view where) {
  const auto document = parse_json(text, where);
  const JsonFields fields(document.root, std::string(where));
  for (const auto& [key, neutral] : kNotImplemented) {
    const json* const value = fields.find(key);
    if (!value || does_nothing(*value, neutral)) continue;
    fail(ErrorCode::unsupported, fields.where(), key, " is ", shown(*value), kAdvice);
  }
  GenerationConfig config;
  fields.read("do_sample", config.do_sample);
  float temperature = 1.0f;
  fields.read("temperature", temperature, 100.0f);
  if (config.do_sample && temperature >= SamplingOptions::kMinTemperature) {
    config.sampling.temperature = temperature;
  }
  read_filters(fields, config.sampling);
  read_processors(fields, config.sampling);
  read_beams(fields, config);
  try {
    check_ranges(config.sampling);
    check_beams(config.beams);
  } catch (const Error& error) {
    fail(fields.where(), error.what());
  }
  fields.read("max_length", config.max_length);
  if (fields.find("max_new_tokens")) fields.read("max_new_tokens", config.max_new_tokens.emplace());
  return config;
}

}  // namespace gpt2
