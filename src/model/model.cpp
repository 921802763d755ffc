#include "gpt2/model.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "formats/checkpoint.h"
#include "gpt2/error.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

// nanoGPT's model_args (https://github.com/karpathy/nanoGPT, model.py: GPTConfig): HuggingFace's
// numbers under its own names, and the exact GELU.
Config config_of(const Checkpoint& checkpoint) {
  Config config;
  config.activation_function = ActivationFunction::gelu;
  for (const auto& [name, size] :
       {std::pair{"n_layer", &config.n_layer}, {"n_head", &config.n_head},
        {"n_embd", &config.n_embd}, {"block_size", &config.n_positions},
        {"vocab_size", &config.vocab_size}}) {
    const auto found = checkpoint.model_args().find(name);
    if (found == checkpoint.model_args().end() || found->second <= 0) {
      throw Error(ErrorCode::invalid_file, checkpoint.files().front().string() +
                                               ": model_args has no usable " + name);
    }
    *size = static_cast<std::size_t>(found->second);
  }
  std::erase_if(config.eos_token_id, [&](TokenId id) {
    return static_cast<std::size_t>(id) >= config.vocab_size;
  });
  config.validate(checkpoint.files().front().string() + ": model_args");
  return config;
}

}  // namespace

Model Model::load(const fs::path& path, const LoadOptions& options) {
  if (!fs::exists(path)) {
    throw Error(ErrorCode::not_found, path.string() + ": no such file or directory");
  }
  const fs::path directory = fs::is_directory(path) ? path : path.parent_path();
  std::optional<Config> config;
  // Only nanoGPT's checkpoints do without.
  if (path.extension() != ".pt" && !fs::exists(directory / "ckpt.pt")) {
    config = Config::load(directory / "config.json");
  }
  const auto checkpoint = std::make_shared<const Checkpoint>(Checkpoint::open(path));
  if (!checkpoint->model_args().empty()) config = config_of(*checkpoint);
  if (!config) config = Config::load(directory / "config.json");
  return Model(bind_weights(*config,
                            {.tensors = checkpoint->tensors(),
                             .where = checkpoint->files().front().string(),
                             .linear_layout = checkpoint->linear_layout(),
                             .owner = checkpoint},
                            options));
}

Model::Model(std::shared_ptr<const Transformer> transformer)
    : transformer_(std::move(transformer)) {}

const Config& Model::config() const noexcept { return transformer_->config; }

std::size_t Model::parameter_count() const noexcept { return transformer_->parameters; }

std::size_t Model::bytes_per_token() const noexcept {
  std::size_t bytes = transformer_->lm_head.bytes();
  for (const Block& block : transformer_->blocks) {
    for (const Linear* linear : {&block.attn.c_attn, &block.attn.c_proj, &block.mlp.c_fc,
                                 &block.mlp.c_proj}) {
      bytes += linear->weight.bytes();
    }
  }
  return bytes;
}

}  // namespace gpt2
