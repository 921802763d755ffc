#include "gpt2/model.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/json.h"
#include "base/system/threads.h"
#include "kernels/kernels.h"
#include "model/loading/config_json.h"
#include "model/loading/loading.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

// Returns the config for nanoGPT's model_args (https://github.com/karpathy/nanoGPT, model.py:
// GPTConfig). They are the same numbers as in HuggingFace's config, but block_size is the name of
// n_positions. nanoGPT uses the exact GELU. build-nanogpt and the first nanoGPT, which have no
// option "bias", use GPT-2's.
Config config_of(const ModelArgs& args, const fs::path& file) {
  const std::string where = file.string() + ": model_args";
  JsonDocument<nlohmann::json> config;
  config.root["activation_function"] = args.contains("bias") ? "gelu" : "gelu_new";
  for (const std::string name : kSizesOfModelArgs) {
    const auto found = args.find(name);
    if (found == args.end()) fail(where, name, " is missing");
    config.root[name == "block_size" ? "n_positions" : name] = found->second;
  }
  return Config::parse(config.root.dump(), where);
}

Config load_config(const ModelFiles& files) {
  if (files.has_config) return load_config(files.config(), files.source);
  fail(ErrorCode::not_found, files.path.string(),
       files.is_nanogpt()
           ? "no model_args of nanoGPT in it, and no config.json beside it; expected either"
           : "no config.json; expected it beside model.safetensors or pytorch_model.bin");
}

std::shared_ptr<const Transformer> load_transformer(const ModelFiles& from,
                                                    const LoadOptions& options) {
  const bool is_adapter = from.is_adapter(options.base);
  if (!is_adapter && !options.base.empty()) {
    reject("base: ", quote(options.base), " is given, but ", from.path.string(),
           " is a whole model: leave it out");
  }
  ModelFiles files = is_adapter ? find_base(from, options.base) : from;
  if (is_adapter && files.weights.empty()) {
    fail(ErrorCode::not_found, from.adapter.string(),
         "its base has no weights: ", files.path.string());
  }
  if (is_adapter && !options.use_mmap) files.source = FileSource(FileAccess::copy);
  // This reads config.json first, because if the model is not a GPT-2, config.json leads to the
  // most helpful error message.
  std::optional<Config> config;
  if (!files.is_nanogpt()) config = load_config(files);
  const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(files));
  const bool has_own_config = !config && checkpoint->model_args;
  if (has_own_config) config = config_of(*checkpoint->model_args, files.weights);
  if (!config) config = load_config(files);

  const auto transformer = bind_weights(*config, checkpoint, options, is_adapter ? &from : nullptr);
  std::vector<fs::path>& read = transformer->description.files;
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (has_own_config || !files.source.has(files.directory / name)) continue;
    read.insert(read.begin(), files.directory / name);
  }
  if (is_adapter) transformer->description.base = files.path;
  if (!is_adapter && !files.adapter.empty()) {
    transformer->description.warnings.push_back(
        concat(files.adapter.string(),
               ": this adapter is not used, because a whole model is beside "
               "it: load its file, or name its base"));
  }
  return transformer;
}

}  // namespace

Model Model::load(const fs::path& path, const LoadOptions& options) {
  require_isa();
  const DefaultFloatState state;
  ModelFiles files = find_model_files(path);
  if (!options.use_mmap) files.source = FileSource(FileAccess::copy);
  return Model(load_transformer(files, options));
}

Model Model::load(std::span<const MemoryFile> files, const LoadOptions& options) {
  require_isa();
  const DefaultFloatState state;
  return Model(load_transformer(find_model_files(FileSource(files)), options));
}

Model Model::to(WeightType dtype) const {
  check_weight_type(dtype);
  const bool is_other = dtype != WeightType::stored && dtype != weight_type();
  if (is_other && transformer_->lm_head.is_quantized()) {
    reject("a model whose weights are ", name_of(weight_type()), " cannot be converted to ",
           name_of(dtype), ": start from the model that it was made from");
  }
  if (!needs_conversion(*transformer_, dtype)) return *this;
  const DefaultFloatState state;
  const auto converted = std::make_shared<Transformer>(*transformer_);
  converted->shared_engine = std::make_shared<Transformer::SharedEngine>();
  converted->description.mapped_bytes = 0;
  converted->description.converted_bytes = 0;
  convert_all(*converted, dtype, {});  // this model still uses the files
  return Model(converted);
}

const Config& Model::config() const noexcept { return transformer_->config; }

std::size_t Model::parameter_count() const noexcept { return transformer_->parameters; }

const ModelDescription& Model::description() const noexcept { return transformer_->description; }

WeightType Model::weight_type() const noexcept { return transformer_->lm_head.type; }

std::size_t Model::bytes_per_token() const noexcept {
  std::size_t bytes = transformer_->lm_head.bytes();
  for (const Block& block : transformer_->blocks) {
    bytes += block.attn.c_attn.weight.bytes() + block.attn.c_proj.weight.bytes() +
             block.mlp.c_fc.weight.bytes() + block.mlp.c_proj.weight.bytes();
  }
  return bytes;
}

}  // namespace gpt2
