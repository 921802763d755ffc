#include "gpt2/model.h"

#include <memory>
#include <utility>

#include "formats/checkpoint.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace gpt2 {

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  const bool is_directory = std::filesystem::is_directory(path);
  const Config config = Config::load((is_directory ? path : path.parent_path()) / "config.json");
  const Checkpoint checkpoint = Checkpoint::open(path);
  return Model(bind_weights(config,
                            {.tensors = checkpoint.tensors(),
                             .where = checkpoint.files().front().string(),
                             .linear_layout = checkpoint.linear_layout(),
                             .owner = std::make_shared<const Checkpoint>(checkpoint)},
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
