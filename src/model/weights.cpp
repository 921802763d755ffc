#include "model/weights.h"

#include <cmath>
#include <string>
#include <utility>

#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "model/convert.h"
#include "model/tensor_names.h"

namespace gpt2 {
namespace {

ActivationKernel kernel_of(ActivationFunction function) {
  const Kernels& k = kernels();
  switch (function) {
    case ActivationFunction::gelu_new: return k.gelu_new;
    case ActivationFunction::gelu_fast: return k.gelu_fast;
    case ActivationFunction::gelu: return k.gelu;
    case ActivationFunction::gelu_10: return k.gelu_10;
    case ActivationFunction::quick_gelu: return k.quick_gelu;
    case ActivationFunction::relu: return k.relu;
    case ActivationFunction::relu2: return k.relu2;
    case ActivationFunction::relu6: return k.relu6;
    case ActivationFunction::silu: return k.silu;
    case ActivationFunction::mish: return k.mish;
    case ActivationFunction::tanh: return k.tanh;
    case ActivationFunction::sigmoid: return k.sigmoid;
    case ActivationFunction::laplace: return k.laplace;
    case ActivationFunction::linear: return nullptr;
  }
  return nullptr;
}

WeightFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return WeightFormat::f16;
    case DType::bf16: return WeightFormat::bf16;
    default: return WeightFormat::f32;
  }
}

class Binder {
 public:
  Binder(const Config& config, const TensorSource& source)
      : config_(config),
        names_(source.tensors, source.where),
        linear_layout_(source.linear_layout),
        description_(source.description) {}

  // A part with a problem stays empty, and finish() reports all of them.
  Transformer bind() {
    const std::size_t n_embd = config_.n_embd;
    constexpr auto kRows = Weight::Layout::nk;  // a row for each output feature
    const Embedding embedding{matrix("wte.weight", n_embd, config_.vocab_size, kRows), positions()};
    Weight lm_head = embedding.wte;
    if (config_.tie_word_embeddings) {
      names_.ignore("lm_head.weight", "tied: wte.weight is used in its place");
    } else {
      lm_head = matrix("lm_head.weight", n_embd, config_.vocab_size, kRows);
    }
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < config_.n_layer && !names_.hopeless(); ++layer) {
      blocks.push_back(block(layer));
    }
    LayerNorm ln_f = layer_norm("ln_f");
    names_.finish();
    description_.ignored.insert(names_.ignored().begin(), names_.ignored().end());
    return {.config = config_,
            .embedding = embedding,
            .blocks = std::move(blocks),
            .ln_f = std::move(ln_f),
            .lm_head = lm_head,
            .parameters = parameters_,
            .description = std::move(description_),
            .storage = {}};
  }

 private:
  const TensorView* take(const std::string& name, const Shape& shape) {
    const TensorView* view = names_.take(name, shape);
    if (view != nullptr) count(name, shape, std::string(name_of(view->dtype)));
    return view;
  }

  void count(std::string_view name, const Shape& shape, const std::string& type) {
    const bool is_norm = name.find("ln_") != std::string_view::npos;
    const char* const group = is_norm                                         ? "norms"
                              : name.find(".attn.") != std::string_view::npos ? "attention"
                              : name.find(".mlp.") != std::string_view::npos  ? "mlp"
                                                                              : "embeddings";
    ++description_.dtypes[group][type];
    ++description_.tensors;
    parameters_ += shape.element_count();
  }

  std::vector<float> floats(const std::string& name, std::size_t n) {
    const TensorView* view = take(name, Shape{n});
    if (view == nullptr) return {};
    std::vector<float> values(n);
    widen_kernel(format_of(view->dtype))(values.data(), view->data, n);
    return values;
  }

  // Models trained without biases leave them out of every layer.
  bool has_biases() const {
    const bool optional = linear_layout_ || config_.packed != WeightType::stored;
    return !optional || names_.contains("ln_f.bias");
  }

  LayerNorm layer_norm(const std::string& name) {
    const std::size_t n = config_.n_embd;
    LayerNorm norm(Shape{n}, config_.layer_norm_epsilon, false);
    if (auto values = floats(name + ".weight", n); !values.empty()) {
      norm.weight = Tensor(Shape{n}, std::move(values));
    }
    if (!has_biases()) return norm;
    if (auto values = floats(name + ".bias", n); !values.empty()) {
      norm.bias = Tensor(Shape{n}, std::move(values));
    }
    return norm;
  }

  // A (k, n) matrix as the file has it, or packed where the config says so.
  Weight matrix(const std::string& name, std::size_t k, std::size_t n, Weight::Layout layout) {
    Weight weight{nullptr, packed_format(), layout, k, n};
    const Shape shape = layout == Weight::Layout::kn ? Shape{k, n} : Shape{n, k};
    if (config_.packed != WeightType::stored) {
      const TensorView* view = names_.take(name, weight.packed_shape(), TensorNames::Kind::packed);
      if (view == nullptr) return {};
      weight.data = view->data;
      count(name, shape, weight.format == WeightFormat::int4 ? "INT4" : "INT8");
    } else {
      const TensorView* view = take(name, shape);
      if (view == nullptr) return {};
      weight.data = view->data;
      weight.format = format_of(view->dtype);
    }
    return weight;
  }

  WeightFormat packed_format() const {
    return config_.packed == WeightType::int4 ? WeightFormat::int4 : WeightFormat::int8;
  }

  // Never packed: a forward pass reads one row of it for each token.
  Weight positions() {
    const TensorView* view = take("wpe.weight", Shape{config_.n_positions, config_.n_embd});
    if (view == nullptr) return {};
    return {view->data, format_of(view->dtype), Weight::Layout::nk, config_.n_embd,
            config_.n_positions};
  }

  Linear linear(const std::string& name, std::size_t k, std::size_t n) {
    const auto layout = linear_layout_ ? Weight::Layout::nk : Weight::Layout::kn;
    Linear linear{.weight = matrix(name + ".weight", k, n, layout), .bias = {}};
    if (has_biases()) linear.bias = floats(name + ".bias", n);
    return linear;
  }

  Block block(std::size_t layer) {
    const std::string h = "h." + std::to_string(layer) + ".";
    const std::size_t n_embd = config_.n_embd;
    const std::size_t inner = config_.inner_dim();
    float scale = 1.0f;
    if (config_.scale_attn_weights) scale /= std::sqrt(static_cast<float>(config_.head_dim()));
    if (config_.scale_attn_by_inverse_layer_idx) scale /= static_cast<float>(layer + 1);
    LayerNorm ln_1 = layer_norm(h + "ln_1");
    Attention attn{.c_attn = linear(h + "attn.c_attn", n_embd, 3 * n_embd),
                   .c_proj = linear(h + "attn.c_proj", n_embd, n_embd),
                   .n_head = config_.n_head,
                   .layer = layer,
                   .scale = scale};
    LayerNorm ln_2 = layer_norm(h + "ln_2");
    FeedForward mlp{.c_fc = linear(h + "mlp.c_fc", n_embd, inner),
                    .c_proj = linear(h + "mlp.c_proj", inner, n_embd),
                    .activation = kernel_of(config_.activation_function)};
    return {std::move(ln_1), std::move(attn), std::move(ln_2), std::move(mlp)};
  }

  const Config& config_;
  TensorNames names_;
  bool linear_layout_;
  ModelDescription description_;
  std::size_t parameters_ = 0;
};

void convert_all(Transformer& transformer, WeightType type) {
  ModelDescription& description = transformer.description;
  description.mapped_bytes = transformer.embedding.wpe.bytes();
  const auto change = [&](Weight& weight) {
    const std::byte* const stored = weight.data;
    weight = convert(weight, type, thread_count(), transformer.storage);
    (weight.data == stored ? description.mapped_bytes : description.converted_bytes) +=
        weight.bytes();
  };
  const bool tied = transformer.lm_head.data == transformer.embedding.wte.data;
  change(transformer.embedding.wte);
  if (tied) {
    transformer.lm_head = transformer.embedding.wte;
  } else {
    change(transformer.lm_head);
  }
  for (Block& block : transformer.blocks) {
    for (Linear* linear :
         {&block.attn.c_attn, &block.attn.c_proj, &block.mlp.c_fc, &block.mlp.c_proj}) {
      change(linear->weight);
    }
  }
}

}  // namespace

std::shared_ptr<const Transformer> bind_weights(const Config& config, const TensorSource& source,
                                                const LoadOptions& options) {
  const auto transformer = std::make_shared<Transformer>(Binder(config, source).bind());
  transformer->storage.push_back(source.owner);
  convert_all(*transformer, options.dtype);
  return transformer;
}

}  // namespace gpt2
