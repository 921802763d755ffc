#include "gpt2/model.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/fail.h"
#include "base/float_state.h"
#include "formats/checkpoint.h"
#include "kernels/kernels.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

// nanoGPT's model_args (https://github.com/karpathy/nanoGPT, model.py: GPTConfig): HuggingFace's
// numbers under its own names, and the exact GELU.
Config config_of(const ModelArgs& args, const fs::path& file) {
  const std::string where = file.string() + ": model_args";
  nlohmann::json config = {{"activation_function", "gelu"}};
  for (const std::string name : {"n_layer", "n_head", "n_embd", "block_size", "vocab_size"}) {
    const auto found = args.find(name);
    if (found == args.end()) fail(where, name, " is missing");
    config[name == "block_size" ? "n_positions" : name] = found->second;
  }
  return Config::parse(config.dump(), where);
}

}  // namespace

Model Model::load(const fs::path& path, const LoadOptions& options) {
  require_isa();
  const DefaultFloatState state;
  std::error_code none;
  if (!fs::exists(path, none)) {
    fail(ErrorCode::not_found, path.string(), "no such file or directory");
  }
  const fs::path directory = fs::is_directory(path, none) ? path : path.parent_path();
  std::optional<Config> config;
  // Only nanoGPT's checkpoints do without.
  if (path.extension() != ".pt" && !fs::exists(directory / "ckpt.pt", none)) {
    if (!fs::exists(directory / "config.json", none)) {
      fail(ErrorCode::not_found, path.string(),
           "no config.json; expected it beside model.safetensors or pytorch_model.bin");
    }
    config = Config::load(directory / "config.json");
  }
  if (config && config->packed != WeightType::stored && options.dtype != config->packed &&
      options.dtype != WeightType::stored) {
    fail(ErrorCode::invalid_argument, path.string(),
         "its weights are packed already, which loses what another dtype would need: "
         "load it as it is, or start from the model that it was made of");
  }
  const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(path));
  if (checkpoint->model_args) config = config_of(*checkpoint->model_args, checkpoint->files[0]);
  if (!config) config = Config::load(directory / "config.json");

  const auto transformer = bind_weights(*config, checkpoint, options);
  std::vector<fs::path>& files = transformer->description.files;
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (checkpoint->model_args || !fs::exists(directory / name, none)) continue;
    files.insert(files.begin(), directory / name);
  }
  return Model(transformer);
}

const Config& Model::config() const noexcept { return transformer_->config; }

std::size_t Model::parameter_count() const noexcept { return transformer_->parameters; }

const ModelDescription& Model::description() const noexcept { return transformer_->description; }

std::size_t Model::bytes_per_token() const noexcept {
  std::size_t bytes = transformer_->lm_head.bytes();
  for (const Block& block : transformer_->blocks) {
    bytes += block.attn.c_attn.weight.bytes() + block.attn.c_proj.weight.bytes() +
             block.mlp.c_fc.weight.bytes() + block.mlp.c_proj.weight.bytes();
  }
  return bytes;
}

}  // namespace gpt2
