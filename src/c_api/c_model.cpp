#include <utility>

#include "c_api/arguments.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "c_api/sampling_arguments.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"

using namespace gpt2::c_api;

namespace {

static_assert(static_cast<int>(gpt2::WeightType::stored) == GPT2_DTYPE_STORED);
static_assert(static_cast<int>(gpt2::WeightType::f32) == GPT2_DTYPE_F32);
static_assert(static_cast<int>(gpt2::WeightType::f16) == GPT2_DTYPE_F16);
static_assert(static_cast<int>(gpt2::WeightType::bf16) == GPT2_DTYPE_BF16);
static_assert(static_cast<int>(gpt2::WeightType::int8) == GPT2_DTYPE_INT8);
static_assert(static_cast<int>(gpt2::WeightType::int4) == GPT2_DTYPE_INT4);

gpt2::WeightType weight_type(gpt2_dtype dtype) {
  require_value(dtype, GPT2_DTYPE_INT4, "the dtype");
  return static_cast<gpt2::WeightType>(dtype);
}

gpt2::LoadOptions load_options_of(const gpt2_load_options* options) {
  const gpt2_load_options given = options_of(options);
  return {.dtype = weight_type(given.dtype),
          .progress = progress_of(given.on_progress, given.user, given.cancel)};
}

std::filesystem::path model_path(const char* name) {
  return gpt2::find_model(c_string(name, "the name of the model"));
}

}  // namespace

gpt2_model::gpt2_model(gpt2::Model loaded, std::string from)
    : model(std::move(loaded)),
      path(std::move(from)),
      config_json(model.config().to_json()),
      named_weights(gpt2::weights_of(model)) {
  const gpt2::Config& config = model.config();
  info = {.vocab_size = config.vocab_size,
          .n_positions = config.n_positions,
          .n_embd = config.n_embd,
          .n_layer = config.n_layer,
          .n_head = config.n_head,
          .n_inner = config.inner_dim(),
          .parameter_count = model.parameter_count(),
          .bytes_per_token = model.bytes_per_token(),
          .eos_token_id = config.eos_token_id.data(),
          .n_eos_token_id = config.eos_token_id.size(),
          .bos_token_id = config.bos_token_id.value_or(-1),
          .dtype = static_cast<gpt2_dtype>(model.weight_type()),
          .config_json = config_json.c_str(),
          .path = path.c_str()};
  for (const gpt2::NamedWeight& weight : named_weights) {
    weights.push_back({.name = weight.name.c_str(),
                       .data = weight.bytes.data(),
                       .size = weight.bytes.size(),
                       .shape = weight.shape.data(),
                       .n_shape = weight.shape.size(),
                       .dtype = static_cast<gpt2_dtype>(weight.type)});
  }
}

gpt2_status gpt2_find_model(const char* name, gpt2_bytes** path) {
  return guard_new(path, [&] { return make_bytes(model_path(name).string()); });
}

gpt2_status gpt2_model_load(const char* name, const gpt2_load_options* options, gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2::LoadOptions load = load_options_of(options);
    const std::filesystem::path path = model_path(name);
    return std::make_unique<gpt2_model>(gpt2::Model::load(path, load), path.string());
  });
}

gpt2_status gpt2_model_load_memory(const gpt2_memory_file* files, size_t n_files,
                                   const gpt2_load_options* options, gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2::LoadOptions load = load_options_of(options);
    return std::make_unique<gpt2_model>(gpt2::Model::load(files_of(files, n_files), load), "");
  });
}

gpt2_status gpt2_model_convert(const gpt2_model* model, gpt2_dtype dtype, gpt2_model** out) {
  return guard_new(out, [&] {
    const gpt2_model& from = checked(model);
    return std::make_unique<gpt2_model>(from.model.to(weight_type(dtype)), from.path);
  });
}

gpt2_status gpt2_model_save_quantized(const gpt2_model* model, const char* path) {
  return guard([&] {
    const gpt2_model& from = checked(model);
    if (from.path.empty()) {
      reject(
          "a model that was loaded from memory cannot be saved, because the other files of its "
          "directory are not known: load it by its path");
    }
    gpt2::save_quantized(from.model, c_path(from.path.c_str(), "the model's path"),
                         c_path(path, "the path"));
  });
}

const gpt2_model_info* gpt2_model_get_info(const gpt2_model* model) {
  return guard_pointer([&] { return &checked(model).info; });
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
