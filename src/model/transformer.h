#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "model/block.h"
#include "model/process_mutex.h"

namespace gpt2 {

/// Token and position embeddings. The rows of each table are the output features of an nk Weight,
/// so that a tied model can use the same Weight as wte and as lm_head.
struct Embedding {
  Weight wte;  ///< (vocab_size, n_embd)
  Weight wpe;  ///< (n_positions, n_embd)

  /// Returns wte[token] + wpe[position], which is stored in ws.x. Uses ws.normed.
  [[nodiscard]] Rows operator()(Pass& pass) const noexcept;
};

/// GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
struct Transformer {
  Config config;
  Embedding embedding;
  std::vector<Block> blocks = {};
  Norm ln_f;
  Weight lm_head;              ///< (n_embd, vocab_size); the same as wte if they are tied
  std::size_t parameters = 0;  ///< shared parameters count once
  ModelDescription description = {};
  std::uint64_t adapter_hash = 0;  ///< of the files of the adapter that is merged, if any

  /// Keeps the memory alive that the weights point to: mapped files and converted matrices.
  std::vector<std::shared_ptr<const void>> storage = {};

  /// Returns a transformer with the sizes in `config` and at most `max_layers` blocks. Its parts
  /// have no weights yet.
  [[nodiscard]] static Transformer without_weights(const Config& config, Weight::Layout of_linears,
                                                   std::size_t max_layers = SIZE_MAX);

  /// The engine of sessions that are constructed without an engine (see Engine::shared).
  struct SharedEngine {
    ProcessMutex mutex;
    std::weak_ptr<Engine::Impl> engine;
  };
  std::shared_ptr<SharedEngine> shared_engine = std::make_shared<SharedEngine>();

  /// Computes the logits or hidden states that were requested, and appends the keys and values of
  /// the batch's tokens to their caches. Does not allocate, lock or throw.
  void forward(Pass& pass) const noexcept;
};

/// Calls f(tensor, name, shape) for every Weight and Tensor that a GPT-2 with this config has.
/// `name` is HuggingFace's name ("wte.weight", "h.0.ln_1.bias" ...), and `shape` is the shape in
/// files.
template <class AnyTransformer, class F>
void for_each_tensor(AnyTransformer& transformer, const F& f) {
  const auto matrix = [&](auto& weight, const std::string& name) {
    f(weight, name + ".weight", weight.shape());
  };
  const auto linear = [&](auto& part, const std::string& name) {
    matrix(part.weight, name);
    f(part.bias, name + ".bias", Shape{part.weight.n});
  };
  const auto norm = [&](auto& part, const std::string& name) {
    f(part.weight, name + ".weight", part.normalized_shape());
    f(part.bias, name + ".bias", part.normalized_shape());
  };
  matrix(transformer.embedding.wte, "wte");
  matrix(transformer.embedding.wpe, "wpe");
  for (std::size_t layer = 0; layer < transformer.blocks.size(); ++layer) {
    auto& block = transformer.blocks[layer];
    const std::string h = "h." + std::to_string(layer) + ".";
    norm(block.ln_1, h + "ln_1");
    norm(block.ln_2, h + "ln_2");
    linear(block.attn.c_attn, h + "attn.c_attn");
    linear(block.attn.c_proj, h + "attn.c_proj");
    linear(block.mlp.c_fc, h + "mlp.c_fc");
    linear(block.mlp.c_proj, h + "mlp.c_proj");
  }
  norm(transformer.ln_f, "ln_f");
  if (!transformer.config.tie_word_embeddings) matrix(transformer.lm_head, "lm_head");
}

/// Calls f(weight) for every Weight among them.
template <class AnyTransformer, class F>
void for_each_weight(AnyTransformer& transformer, const F& f) {
  for_each_tensor(transformer, [&](auto& tensor, const std::string&, const Shape&) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(tensor)>, Weight>) f(tensor);
  });
}

}  // namespace gpt2
