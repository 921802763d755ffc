#include "model/weights.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/fail.h"
#include "gpt2/model.h"
#include "model/convert.h"

namespace gpt2 {
namespace {

// -- The names that tensors have ----------------------------------------------------------------

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
}

// Returns HuggingFace's present name. Files of GPT2LMHeadModel have a prefix in all names except
// the head's, and converted TensorFlow models call the parameters of LayerNorm gamma and
// beta.
std::string canonical_name(std::string name) {
  constexpr std::string_view kPrefix = "transformer.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  replace(name, "gamma", "weight");
  replace(name, "beta", "bias");
  return name;
}

// Returns why a tensor is ignored, or nullptr if it is not ignored.
const char* reason_to_ignore(std::string_view name) {
  if (name.starts_with("score.") || name.starts_with("classifier.") ||
      name.starts_with("multiple_choice_head.")) {
    return "the head of another task";
  }
  const bool is_mask = name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  return is_mask && name.starts_with("h.") ? "a causal mask, as old versions stored it" : nullptr;
}

// The tensors of a checkpoint by HuggingFace's present names. The caller takes them one by one.
// Collects all problems, so that one error message can list them.
class TensorNames {
 public:
  // Throws if two tensors have the same present name. Adds ignored tensors to the description.
  TensorNames(const Checkpoint& checkpoint, ModelDescription& description)
      : where_(checkpoint.files.front().string()), ignored_(description.ignored) {
    for (const auto& tensor : checkpoint.tensors) {
      const std::string present = canonical_name(tensor.first);
      if (const char* const reason = reason_to_ignore(present)) {
        ignored_[reason].push_back(tensor.first);
      } else if (const auto [known, is_new] = tensors_.try_emplace(present, &tensor); !is_new) {
        fail(where_, "tensors ", quote(known->second->first), " and ", quote(tensor.first),
             " are both ", quote(present));
      }
    }
  }

  // Returns whether there is a tensor of this name that has not been taken yet.
  bool contains(const std::string& name) const { return tensors_.contains(name); }

  // Returns whether there are so many problems that it is not useful to collect more.
  bool hopeless() const { return problems_.size() > 1000; }

  // Takes the tensor of this name and returns it. If there is none, or if it has another shape or a
  // type that cannot be used, records the problem and returns nullptr.
  const TensorView* take(const std::string& name, const Shape& shape, bool is_quantized) {
    const auto found = tensors_.extract(name);
    if (found.empty()) return note(name, " ", shape.to_string(), " is missing");
    const auto& [stored_name, view] = *found.mapped();
    if (view.shape != shape) {
      return note(stored_name, " has shape ", view.shape.to_string(), ", the config asks for ",
                  shape.to_string());
    }
    const bool is_float =
        view.dtype == DType::f32 || view.dtype == DType::f16 || view.dtype == DType::bf16;
    if (is_quantized ? view.dtype == DType::u8 : is_float) return &view;
    return note(
        stored_name, " is ", name_of(view.dtype),
        is_quantized ? ", quantized weights must be U8" : ", weights must be F32, F16 or BF16");
  }

  // If there is a tensor of this name, takes it and adds it to the ignored tensors.
  void ignore(const std::string& name, const char* reason) {
    const auto found = tensors_.extract(name);
    if (!found.empty()) ignored_[reason].push_back(found.mapped()->first);
  }

  // Throws an Error that lists the problems if there are any. A tensor that was never taken is one.
  void finish() {
    for (const auto& [name, tensor] : tensors_) {
      note(quote(tensor->first), " is not part of a GPT-2 of this config");
    }
    if (problems_.empty()) return;
    constexpr std::size_t kListed = 8;  // with a wrong config, all tensors of a model are wrong
    std::string message;
    for (std::size_t i = 0; i < std::min(problems_.size(), kListed); ++i) {
      message += (i ? "; " : "") + problems_[i];
    }
    if (problems_.size() > kListed)
      message += concat("; and ", problems_.size() - kListed, " more");
    fail(where_, message, ": do config.json and the weights belong together?");
  }

 private:
  template <class... Parts>
  const TensorView* note(const Parts&... parts) {
    problems_.push_back(concat(parts...));
    return nullptr;
  }

  std::string where_;
  std::map<std::string, const TensorTable::value_type*> tensors_;  // not taken yet
  std::map<std::string, std::vector<std::string>>& ignored_;
  std::vector<std::string> problems_;
};

// -- From a config to the parts of a transformer -------------------------------------------------

// TensorNames::take refuses all other types.
FloatType float_type_of(DType dtype) {
  if (dtype == DType::f16) return FloatType::f16;
  return dtype == DType::bf16 ? FloatType::bf16 : FloatType::f32;
}

bool is_quantized(const Weight& weight) { return weight.is_quantized(); }
bool is_quantized(const Tensor&) { return false; }

// Makes the weight refer to the bytes in the file.
void fill(Weight& weight, const TensorView& view) {
  weight.data = view.data;
  if (weight.is_quantized()) return;
  weight.type =
      by_type(float_type_of(view.dtype), WeightType::f32, WeightType::f16, WeightType::bf16);
}

void fill(Tensor& tensor, const TensorView& view) {
  tensor = Tensor(view.shape);
  widen_kernel(float_type_of(view.dtype))(tensor.data(), view.data, tensor.size());
}

WeightType type_of(const Weight& weight) { return weight.type; }
WeightType type_of(const Tensor&) { return WeightType::f32; }

std::span<const std::byte> bytes_of(const Weight& weight) { return {weight.data, weight.bytes()}; }
std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return std::as_bytes(std::span(tensor.data(), tensor.size()));
}

const char* group_of(std::string_view name) {
  if (name.find("ln_") != std::string_view::npos) return "norms";
  if (name.find(".attn.") != std::string_view::npos) return "attention";
  return name.find(".mlp.") != std::string_view::npos ? "mlp" : "embeddings";
}

}  // namespace

std::shared_ptr<Transformer> bind_weights(const Config& config,
                                          const std::shared_ptr<const Checkpoint>& checkpoint,
                                          const LoadOptions& options) {
  if (config.quantized != WeightType::stored && options.dtype != config.quantized &&
      options.dtype != WeightType::stored) {
    fail(ErrorCode::invalid_argument, checkpoint->files.front().string(),
         "its weights are quantized to ", name_of(config.quantized), " already: load it as it is, ",
         "or start from the model that it was made from");
  }
  // A wrong config may ask for very many layers. If the file cannot have them all, make only 100
  // more than it has tensors: that is enough missing layers for the error message.
  const auto transformer = std::make_shared<Transformer>(Transformer::without_weights(
      config, checkpoint->model_args ? Weight::Layout::nk : Weight::Layout::kn,
      checkpoint->tensors.size() + 100));
  transformer->storage = {checkpoint};
  ModelDescription& description = transformer->description;
  description.files = checkpoint->files;
  description.format = checkpoint->format;
  if (!checkpoint->ignored.empty()) {
    description.ignored["no tensor of the model"] = checkpoint->ignored;
  }
  TensorNames names(*checkpoint, description);
  // A nanoGPT model may have been trained without biases. Then its quantized copy has none either.
  const bool has_biases = (!checkpoint->model_args && config.quantized == WeightType::stored) ||
                          names.contains("ln_f.bias");
  // A tensor with a problem stays empty, and finish() throws an error that lists the problems.
  for_each_tensor(*transformer, [&](auto& tensor, const std::string& name, const Shape& shape) {
    if (names.hopeless() || (!has_biases && name.ends_with(".bias"))) return;
    const TensorView* const view = names.take(name, shape, is_quantized(tensor));
    if (view == nullptr) return;
    fill(tensor, *view);
    const std::string_view quantized = config.quantized == WeightType::int4 ? "INT4" : "INT8";
    const std::string_view type = view->dtype == DType::u8 ? quantized : name_of(view->dtype);
    ++description.dtypes[group_of(name)][std::string(type)];
    ++description.tensors;
    transformer->parameters += tensor.size();
  });
  if (config.tie_word_embeddings) {
    names.ignore("lm_head.weight", "tied: wte.weight is used in its place");
  }
  names.finish();
  convert_all(*transformer, options.dtype, checkpoint->mappings, options.progress);
  return transformer;
}

std::vector<NamedWeight> weights_of(const Model& model) {
  std::vector<NamedWeight> list;
  for_each_tensor(*model.transformer(),
                  [&](const auto& tensor, const std::string& name, const Shape& shape) {
                    const std::span<const std::byte> bytes = bytes_of(tensor);
                    if (bytes.empty()) return;  // a bias that the checkpoint does not have
                    const auto sizes = shape.sizes();
                    list.push_back({.name = name,
                                    .shape = {sizes.begin(), sizes.end()},
                                    .type = type_of(tensor),
                                    .bytes = bytes});
                  });
  return list;
}

}  // namespace gpt2
