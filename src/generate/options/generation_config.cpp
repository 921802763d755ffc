#include "gpt2/generation_config.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system/threads.h"
#include "generate/options/option_codec.h"
#include "gpt2/model_files.h"
#include "model/loading/config_json.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Keys that would change the text and are not implemented, each with the number for which it has no
// effect. With null, false, or an empty list or object, none of them has an effect.
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::pair<const char*, double> kNotImplemented[] = {
    {"encoder_no_repeat_ngram_size", 0},
    {"penalty_alpha", 0},
    {"num_beam_groups", 1},
    {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1},
    {"max_time", kNoValue},
    {"force_words_ids", kNoValue},
    {"constraints", kNoValue},
    {"forced_decoder_ids", kNoValue},
    {"stop_strings", kNoValue},
    {"watermarking_config", kNoValue},
    {"token_healing", kNoValue},
    {"dola_layers", kNoValue},
};

constexpr const char* kAdvice = ", which is not implemented; remove it from the file";

bool does_nothing(const json& value, double neutral) {
  return value == false || (value.is_structured() && value.empty()) ||
         (value.is_number() && value.get<double>() == neutral);
}

// If the object has a member with the name of the field, sets the option to its value. Throws
// Error(invalid_file), which names the member, for a value that the option cannot have.
template <class Options, class T>
void read_option(const JsonFields& fields, const OptionField<Options, T>& field, Options& options) {
  const json* const value = fields.find(field.name);
  if (value == nullptr) return;
  if (OptionCodec<T>::read(*value, field.range, options.*field.member)) return;
  fields.refuse(field.name, OptionCodec<T>::form(field.range).json);
}

// Reads the options of beam search. With one beam, num_return_sequences is a number of samples, so
// it has no limit yet.
void read_beams(const JsonFields& fields, GenerationConfig& config) {
  BeamOptions& beams = config.beams;
  for_each_beam_field([&](auto field) {
    if (std::string_view(field.name) == "num_return_sequences")
      field.range.max = GenerationConfig::kMaxSamples;
    read_option(fields, field, beams);
  });
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

// A number above kMaxOptionTokens means the same as this one, because no context is as long, but
// would be refused as an option.
std::optional<std::size_t> read_length(const JsonFields& fields, const char* name) {
  if (fields.find(name) == nullptr) return std::nullopt;
  std::size_t length = 0;
  fields.read(name, length);
  return std::min(length, kMaxOptionTokens);
}

void read_lengths(const JsonFields& fields, std::optional<std::size_t> n_positions,
                  GenerationConfig& config) {
  const auto max_new_tokens = read_length(fields, "max_new_tokens");
  config.max_length = read_length(fields, "max_length");
  if (max_new_tokens || config.max_length) {
    config.max_new_tokens = max_new_tokens;
    if (max_new_tokens) config.max_length.reset();
  } else {
    config.max_length = n_positions;
  }
}

// n_positions is that of the model, if it is known.
GenerationConfig read_config(std::string_view text, std::string_view where,
                             std::optional<std::size_t> n_positions) {
  const DefaultFloatState state;
  const auto document = parse_json(text, where);
  const JsonFields fields(document.root, std::string(where));
  for (const auto& [key, neutral] : kNotImplemented) {
    const json* const value = fields.find(key);
    if (!value || does_nothing(*value, neutral)) continue;
    fail(ErrorCode::unsupported, fields.where(), key, " is ", shown(*value), kAdvice);
  }
  GenerationConfig config;
  fields.read("do_sample", config.do_sample);
  config.sampling.temperature = 1.0f;
  for_each_sampling_field([&](const auto& field) {
    if (field.origin == OptionOrigin::huggingface) read_option(fields, field, config.sampling);
  });
  if (!config.do_sample) config.sampling.temperature = 0.0f;
  read_beams(fields, config);
  try {
    check_options(config.beams);
  } catch (const Error& error) {
    fail(fields.where(), error.what());
  }
  read_lengths(fields, n_positions, config);
  return config;
}

}  // namespace

GenerationConfig GenerationConfig::load(const std::filesystem::path& path) {
  const std::filesystem::path directory = directory_of(find_places(path).config);
  std::filesystem::path file = directory / "generation_config.json";
  const std::filesystem::path model = directory / "config.json";
  if (!is_there(file)) file = model;
  std::optional<std::size_t> n_positions;
  if (is_there(model)) n_positions = Config::load(model).n_positions;
  return read_config(read_file(file, kMaxConfigBytes), file.string(), n_positions);
}

GenerationConfig GenerationConfig::parse(std::string_view text, std::string_view where) {
  return read_config(text, where, std::nullopt);
}

}  // namespace gpt2
