#include "gpt2/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "base/system/threads.h"
#include "base/text.h"
#include "model/loading/config_json.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxSize = 1 << 24;  // the largest size of a dimension
constexpr std::size_t kMaxLayers = 1 << 16;

// HuggingFace's names (ACT2FN). If a function has several names, name_of() returns the first one.
constexpr auto kActivations = [] {
  using enum ActivationFunction;
  return std::to_array<std::pair<std::string_view, ActivationFunction>>({
      {"gelu_new", gelu_new},
      {"gelu_pytorch_tanh", gelu_new},
      {"gelu_python_tanh", gelu_new},
      {"gelu_accurate", gelu_new},
      {"gelu_fast", gelu_fast},
      {"gelu", gelu},
      {"gelu_python", gelu},
      {"gelu_10", gelu_10},
      {"quick_gelu", quick_gelu},
      {"relu", relu},
      {"relu2", relu2},
      {"relu6", relu6},
      {"silu", silu},
      {"swish", silu},
      {"mish", mish},
      {"tanh", tanh},
      {"sigmoid", sigmoid},
      {"linear", linear},
      {"laplace", laplace},
      {"hardswish", hardswish},
      {"leaky_relu", leaky_relu},
      {"sqrtsoftplus", sqrtsoftplus},
  });
}();

// Reads a size that may be given under two names. Throws if they have different values.
void read_size(const JsonFields& fields, const char* key, const char* alias, std::size_t& size,
               std::size_t max = kMaxSize) {
  fields.read(alias, size, 1, max);
  const std::size_t aliased = size;
  fields.read(key, size, 1, max);
  if (fields.find(alias) != nullptr && size != aliased) {
    fail(fields.where(), key, " is ", size, ", but ", alias, ", another name for it, is ", aliased);
  }
}

TokenId token_id(const JsonFields& fields, const char* key, const json& value) {
  using Limits = std::numeric_limits<TokenId>;
  if (const auto id = whole_number<TokenId>(value)) return *id;
  fail(fields.where(), key, " is ", shown(value), "; expected a whole number from ", Limits::min(),
       " to ", Limits::max());
}

bool is_gpt2_class(const json& name) {
  return name.is_string() && name.get_ref<const std::string&>().starts_with("GPT2");
}

void refuse_other_models(const JsonFields& fields) {
  using enum ErrorCode;
  if (const json* const type = fields.find("model_type")) {
    if (!is_text(*type, "gpt2")) fields.refuse("model_type", "'gpt2'", unsupported);
  } else if (const json* const classes = fields.find("architectures")) {  // in the oldest configs
    if (classes->is_array() && !classes->empty() && std::ranges::none_of(*classes, is_gpt2_class)) {
      fail(unsupported, fields.where(), "architectures is ", quote(classes->dump()),
           "; expected a GPT2 model");
    }
  }
  for (const char* key : {"add_cross_attention", "is_encoder_decoder"}) {
    bool value = false;
    fields.read(key, value);
    if (value) fields.refuse(key, "false, a plain decoder", unsupported);
  }
  if (const json* heads = fields.find("pruned_heads"); heads != nullptr && !heads->empty()) {
    fields.refuse("pruned_heads", "a model with all heads", unsupported);
  }
  if (fields.find("quantization_config") != nullptr) {
    fields.required_object("quantization_config")
        .refuse("quant_method", "the original weights", unsupported);
  }
}

void read_activation(const JsonFields& fields, ActivationFunction& function) {
  const auto name = fields.object().find("activation_function");
  if (name == fields.object().end()) return;
  std::string known;
  for (const auto& [known_name, known_function] : kActivations) {
    if (name->is_string() && name->get_ref<const std::string&>() == known_name) {
      function = known_function;
      return;
    }
    known += concat(known.empty() ? "" : ", ", known_name);
  }
  fail(ErrorCode::unsupported, fields.where(), "activation_function is ", shown(*name),
       "; expected one of ", known);
}

void read_special_tokens(const JsonFields& fields, Config& config) {
  const json& object = fields.object();
  if (const auto bos = object.find("bos_token_id"); bos != object.end()) {
    config.bos_token_id.reset();
    if (!bos->is_null()) config.bos_token_id = token_id(fields, "bos_token_id", *bos);
  }
  if (const auto eos = object.find("eos_token_id"); eos != object.end()) {
    config.eos_token_id.clear();
    const auto add = [&](const json& id) {
      config.eos_token_id.push_back(token_id(fields, "eos_token_id", id));
    };
    if (eos->is_array()) {
      std::ranges::for_each(*eos, add);
    } else if (!eos->is_null()) {
      add(*eos);
    }
  }
  const auto is_outside = [&](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= config.vocab_size;
  };
  if (config.bos_token_id && is_outside(*config.bos_token_id)) config.bos_token_id.reset();
  std::erase_if(config.eos_token_id, is_outside);
}

// Reads the key that `gpt2 quantize` adds.
void read_quantized(const JsonFields& fields, WeightType& quantized) {
  const json* const own = fields.find("gpt2_cpp");
  if (own == nullptr) return;
  const json none;
  const json& dtype = own->is_object() && own->contains("dtype") ? (*own)["dtype"] : none;
  if (!is_text(dtype, "int8") && !is_text(dtype, "int4")) {
    fail(ErrorCode::unsupported, fields.where(), "gpt2_cpp.dtype is ", shown(dtype),
         "; expected 'int8' or 'int4'");
  }
  quantized = *weight_type_named(dtype.get_ref<const std::string&>());
}

}  // namespace

Config Config::load(const std::filesystem::path& file) { return load_config(file, {}); }

Config load_config(const std::filesystem::path& file, const FileSource& source) {
  Config config = Config::parse(read_file(file, kMaxConfigBytes, source), file.string());
  const std::filesystem::path beside = file.parent_path() / "generation_config.json";
  if (source.has(beside)) {
    const auto document = parse_json(read_file(beside, kMaxConfigBytes, source), beside.string());
    config.eos_token_id.clear();  // those of the config.json do not count, as in transformers 5
    read_special_tokens(JsonFields(document.root, beside.string()), config);
  }
  return config;
}

Config Config::parse(std::string_view text, std::string_view where) {
  const DefaultFloatState state;
  const auto document = parse_json(text, where);
  // A null does not stand for the default, because Python would treat it as false, or fail to
  // compute with it.
  const JsonFields fields(document.root, std::string(where), JsonFields::Null::refused);
  refuse_other_models(fields);

  Config config;
  fields.read("vocab_size", config.vocab_size, 1, std::numeric_limits<TokenId>::max());
  if (!fields.find("n_positions")) fields.read("n_ctx", config.n_positions, 1, kMaxSize);  // older
  read_size(fields, "n_positions", "max_position_embeddings", config.n_positions);
  read_size(fields, "n_embd", "hidden_size", config.n_embd);
  read_size(fields, "n_layer", "num_hidden_layers", config.n_layer, kMaxLayers);
  read_size(fields, "n_head", "num_attention_heads", config.n_head);
  if (fields.find("n_inner") != nullptr) fields.read("n_inner", config.n_inner, 1, 4 * kMaxSize);
  read_activation(fields, config.activation_function);
  fields.read("layer_norm_epsilon", config.layer_norm_epsilon);
  fields.read("scale_attn_weights", config.scale_attn_weights);
  fields.read("scale_attn_by_inverse_layer_idx", config.scale_attn_by_inverse_layer_idx);
  fields.read("reorder_and_upcast_attn", config.reorder_and_upcast_attn);
  fields.read("tie_word_embeddings", config.tie_word_embeddings);
  read_special_tokens(fields, config);
  read_quantized(fields, config.quantized);

  if (config.n_embd % config.n_head != 0) {
    fail(fields.where(), "n_embd ", config.n_embd, " is not a multiple of n_head ", config.n_head);
  }
  // Check the size of the largest array, which has the keys and values of a full context, in f32.
  const std::array cache = {config.n_layer, config.n_positions, config.n_embd};
  if (!checked_product(cache, 2 * sizeof(float))) {
    fail(fields.where(), "n_layer ", cache[0], " with n_positions ", cache[1], " and n_embd ",
         cache[2], " takes more memory than can be addressed");
  }
  return config;
}

JsonDocument<nlohmann::ordered_json> config_tree(const Config& config) {
  const DefaultFloatState state;
  if (!std::isfinite(config.layer_norm_epsilon)) reject("layer_norm_epsilon is not finite");
  if (name_of(config.activation_function).empty()) {
    reject("activation_function is ", static_cast<int>(config.activation_function),
           ", which is not a value of ActivationFunction");
  }
  JsonDocument<nlohmann::ordered_json> document;
  nlohmann::ordered_json& tree = document.root;
  tree = nlohmann::ordered_json::object();
  // Without this, the JSON library would copy and destroy the members each time the object grows.
  tree.get_ref<nlohmann::ordered_json::object_t&>().reserve(kMaxConfigMembers);
  tree["n_layer"] = config.n_layer;
  tree["n_head"] = config.n_head;
  tree["n_embd"] = config.n_embd;
  tree["n_inner"] = config.inner_dim();
  tree["n_positions"] = config.n_positions;
  tree["vocab_size"] = config.vocab_size;
  tree["activation_function"] = name_of(config.activation_function);
  // This writes the digits of a float, such as 1e-05, and not those of the float as a double.
  tree["layer_norm_epsilon"] = short_number(config.layer_norm_epsilon);
  tree["scale_attn_weights"] = config.scale_attn_weights;
  tree["scale_attn_by_inverse_layer_idx"] = config.scale_attn_by_inverse_layer_idx;
  tree["reorder_and_upcast_attn"] = config.reorder_and_upcast_attn;
  tree["tie_word_embeddings"] = config.tie_word_embeddings;
  tree["eos_token_id"] = config.eos_token_id;
  tree["bos_token_id"] = config.bos_token_id ? json(*config.bos_token_id) : json();
  return document;
}

std::string Config::to_json() const { return config_tree(*this).root.dump(2); }

std::string_view name_of(ActivationFunction function) noexcept {
  const auto second = &decltype(kActivations)::value_type::second;
  const auto found = std::ranges::find(kActivations, function, second);
  return found == kActivations.end() ? "" : found->first;
}

}  // namespace gpt2
