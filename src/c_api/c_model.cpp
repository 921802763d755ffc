#include <span>
#include <utility>

#include "base/names.h"
#include "base/paths.h"
#include "c_api/guard.h"
#include "gpt2/generation_config.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/observer.h"
#include "gpt2/option_fields.h"
#include "gpt2/runtime.h"
#include "requests/answer/own_form.h"
#include "requests/read/options.h"

using namespace gpt2::c_api;

namespace gpt2::c_api {
namespace {

WeightType weight_type(std::string_view name) {
  const std::optional<WeightType> type = weight_type_named(name);
  if (type && type != WeightType::stored) return *type;
  reject("dtype: expected ", listed_names(WeightType::f32), ", found '", name, "'");
}

LoadOptions load_options_of(const char* text, gpt2_on_progress on_progress, void* user) {
  JsonArgument options(text, "the options");
  LoadOptions load = {.progress = progress_of(on_progress, user)};
  if (const auto dtype = options.members().text("dtype")) load.dtype = weight_type(*dtype);
  load.base = options.members().text("base").value_or("");
  options.members().refuse_others();
  return load;
}

std::filesystem::path model_path(const char* name) {
  return find_model(c_string(name, "the name of the model"));
}

Json describe_library() {
  Json result = {{"version", GPT2_VERSION_STRING}};
  try {
    result.add("isa", isa_name());
  } catch (const Error&) {
    result.add("isa", nullptr);
  }
  Json reasons = Json::array(), observed = Json::array();
  for (int reason = 0; reason <= static_cast<int>(FinishReason::cancelled); ++reason) {
    reasons.push_back(name_of(static_cast<FinishReason>(reason)));
  }
  for (const ObservedName& of : observed_names()) {
    observed.push_back(Json{{"name", of.name}, {"hook", of.transformer_lens}});
  }
  result.add({{"isas", available_isas()},
              {"threads", thread_count()},
              {"dtypes", std::span(kNamesOf<WeightType>).subspan<1>()},
              {"finish_reasons", reasons},
              {"observed", observed},
              {"options", option_list(/*is_own=*/true)}});
  return result;
}

Json describe(const gpt2_model& from) {
  const ModelPlaces places = from.path.empty()
                                 ? ModelPlaces()
                                 : find_places(from.path, from.model.description().base.string());
  Json json = model_json(from.model);
  json.add({{"path", from.path},
            {"config_path", places.config.string()},
            {"tokenizer_path", places.tokenizer.string()}});
  return json;
}

Json describe(const Tokenizer& tokenizer) {
  Json special = Json::array(), named = Json::object(), others = Json::array();
  for (std::size_t id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.is_special(static_cast<TokenId>(id))) special.push_back(id);
  }
  for (const auto& [name, id] : tokenizer.special_tokens()) {
    constexpr std::string_view kOther = "additional_special_tokens";
    if (name == kOther) {
      others.push_back(id);
    } else {
      named.add(name, id);
    }
  }
  named.add("additional_special_tokens", others);
  return {{"n_tokens", tokenizer.size()},
          {"vocab_size", tokenizer.vocab_size()},
          {"end_of_text", tokenizer.end_of_text()},
          {"special_ids", special},
          {"special_tokens", named},
          {"is_byte_level", tokenizer.is_byte_level()},
          {"description", tokenizer.description()},
          {"path", tokenizer.files().front().parent_path().string()}};
}

EncodeOptions encode_options(const char* options) {
  JsonArgument given(options, "the options");
  const auto flag = [&](const char* name, bool value) {
    return given.members().flag(name).value_or(value);
  };
  const EncodeOptions encode = {.parse_special = flag("parse_special", true),
                                .add_special_tokens = flag("add_special_tokens", true),
                                .post_process = flag("post_process", false)};
  given.members().refuse_others();
  return encode;
}

}  // namespace

std::optional<Tokenizer> optional_tokenizer(const gpt2_tokenizer* tokenizer) {
  if (tokenizer == nullptr) return std::nullopt;
  return checked(tokenizer).tokenizer;
}

}  // namespace gpt2::c_api

gpt2_model::gpt2_model(gpt2::Model loaded, std::string from)
    : model(std::move(loaded)), path(std::move(from)), named_weights(gpt2::weights_of(model)) {
  for (const gpt2::NamedWeight& weight : named_weights) {
    weights.push_back({.name = weight.name.c_str(),
                       .data = weight.bytes.data(),
                       .size = weight.bytes.size(),
                       .shape = weight.shape.data(),
                       .n_shape = weight.shape.size(),
                       .dtype = name_of(weight.type).data()});  // a literal, with a zero at its end
  }
}

int32_t gpt2_version(void) { return GPT2_VERSION; }

gpt2_status gpt2_force_isa(const char* name) {
  return guard([&] { gpt2::force_isa(c_string(name, "the name of the instruction set")); });
}

gpt2_status gpt2_describe(gpt2_bytes** json) {
  return guard_new(json, [&] { return make_bytes(describe_library().text()); });
}

gpt2_status gpt2_find_model(const char* name, gpt2_bytes** path) {
  return guard_new(path, [&] { return make_bytes(model_path(name).string()); });
}

gpt2_status gpt2_model_load(const char* name, const char* options, gpt2_on_progress on_progress,
                            void* user, gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2::LoadOptions load = load_options_of(options, on_progress, user);
    const std::filesystem::path path = model_path(name);
    return std::make_unique<gpt2_model>(gpt2::Model::load(path, load), path.string());
  });
}

gpt2_status gpt2_model_load_memory(const gpt2_memory_file* files, size_t n_files,
                                   const char* options, gpt2_on_progress on_progress, void* user,
                                   gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2::LoadOptions load = load_options_of(options, on_progress, user);
    return std::make_unique<gpt2_model>(gpt2::Model::load(files_of(files, n_files), load), "");
  });
}

gpt2_status gpt2_model_convert(const gpt2_model* model, const char* dtype, gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2_model& from = checked(model);
    return std::make_unique<gpt2_model>(from.model.to(weight_type(c_string(dtype, "the dtype"))),
                                        from.path);
  });
}

gpt2_status gpt2_model_save_quantized(const gpt2_model* model, const char* path) {
  return guard([&] {
    const gpt2_model& from = checked(model);
    if (from.path.empty()) {
      gpt2::reject(
          "a model that was loaded from memory cannot be saved, because the other files of its "
          "directory are not known: load it by its path");
    }
    gpt2::save_quantized(from.model, gpt2::path_of(from.path),
                         gpt2::path_of(c_string(path, "the path")));
  });
}

gpt2_status gpt2_model_info(const gpt2_model* model, gpt2_bytes** json) {
  return guard_new(json, [&] {
    const gpt2_model& from = checked(model);
    return make_bytes(describe(from).text());
  });
}

gpt2_status gpt2_model_weights(const gpt2_model* model, const gpt2_weight** weights,
                               size_t* n_weights) {
  return guard([&] {
    require(weights, "the output for the array");
    require(n_weights, "the output for its length");
    const gpt2_model& from = checked(model);
    *weights = from.weights.data();
    *n_weights = from.weights.size();
  });
}

void gpt2_model_free(gpt2_model* model) { release(model); }

gpt2_status gpt2_generation_config(const char* name, const char* json, gpt2_bytes** out) {
  return guard_new(out, [&] {
    const auto config = json == nullptr
                            ? gpt2::GenerationConfig::load(model_path(name))
                            : gpt2::GenerationConfig::parse(json, "the generation config");
    return make_bytes(gpt2::request_json(config).text());
  });
}

gpt2_status gpt2_tokenizer_load(const char* name, gpt2_tokenizer** out) {
  return guard_new(
      out, [&] { return make_handle<gpt2_tokenizer>(gpt2::Tokenizer::load(model_path(name))); });
}

gpt2_status gpt2_tokenizer_load_memory(const gpt2_memory_file* files, size_t n_files,
                                       gpt2_tokenizer** out) {
  return guard_new(out, [&] {
    return make_handle<gpt2_tokenizer>(gpt2::Tokenizer::load(files_of(files, n_files)));
  });
}

gpt2_status gpt2_tokenizer_encode(const gpt2_tokenizer* tokenizer, const char* text, size_t n_bytes,
                                  const char* options, gpt2_ids** out, size_t* lost) {
  return guard_new(out, [&] {
    const gpt2::EncodedText encoded = checked(tokenizer).tokenizer.encode_text(
        text_of(text, n_bytes, "the text"), encode_options(options));
    if (lost != nullptr) *lost = encoded.lost_bytes;
    return make_ids(encoded.ids);
  });
}

gpt2_status gpt2_tokenizer_offsets(const gpt2_tokenizer* tokenizer, const char* text,
                                   size_t n_bytes, const char* options, gpt2_ids** out) {
  return guard_new(out, [&] {
    gpt2::EncodeOptions with_ranges = encode_options(options);
    with_ranges.with_ranges = true;
    const gpt2::EncodedText encoded =
        checked(tokenizer).tokenizer.encode_text(text_of(text, n_bytes, "the text"), with_ranges);
    std::vector<gpt2::TokenId> numbers;  // a text has less than 2^31 bytes
    for (const auto& [begin, end] : encoded.ranges) {
      for (const std::size_t place : {begin, end}) {
        numbers.push_back(static_cast<gpt2::TokenId>(place));
      }
    }
    return make_ids(numbers);
  });
}

gpt2_status gpt2_tokenizer_decode(const gpt2_tokenizer* tokenizer, const gpt2_token* ids,
                                  size_t n_ids, gpt2_bytes** out) {
  return guard_new(out, [&] {
    return make_bytes(checked(tokenizer).tokenizer.decode(span_of(ids, n_ids, "the list of ids")));
  });
}

gpt2_status gpt2_tokenizer_token_bytes(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                       const char** data, size_t* n_bytes) {
  return guard([&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    require(data, "the output pointer `data`");
    require(n_bytes, "the output pointer `n_bytes`");
    const std::string_view bytes = text.bytes(id);
    *data = bytes.data();
    *n_bytes = bytes.size();
  });
}

gpt2_status gpt2_tokenizer_find(const gpt2_tokenizer* tokenizer, const char* content,
                                size_t n_bytes, gpt2_token* id) {
  return guard([&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    require(id, "the output pointer `id`");
    *id = text.find(text_of(content, n_bytes, "the content")).value_or(-1);
  });
}

gpt2_status gpt2_tokenizer_info(const gpt2_tokenizer* tokenizer, gpt2_bytes** json) {
  return guard_new(json, [&] {
    const gpt2::Tokenizer& text = checked(tokenizer).tokenizer;
    return make_bytes(describe(text).text());
  });
}

void gpt2_tokenizer_free(gpt2_tokenizer* tokenizer) { release(tokenizer); }
