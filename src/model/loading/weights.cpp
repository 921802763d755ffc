#include "model/loading/loading.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/fail.h"

namespace gpt2 {
namespace {

// -- The names that tensors have ----------------------------------------------------------------

constexpr std::string_view kHead = "lm_head.weight";

// Returns whether this is a name in HuggingFace's GPT2Model, or begins like one in a block.
bool is_present_name(std::string_view name) {
  constexpr std::string_view kKnown[] = {"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias",
                                         kHead};
  if (name.starts_with("h.")) return name.find_first_of("0123456789") == 2;
  return std::ranges::count(kKnown, name) != 0;
}

// The name of a tensor in parts. Without a present name, `present` is empty.
struct TensorName {
  std::string prefix;   // what wrappers of the model have put before the name
  std::string present;  // HuggingFace's present name: "wte.weight", "h.0.ln_1.bias" ...
};

// Compilers and trainers put names between the parts, converted TensorFlow models call the
// parameters of LayerNorm gamma and beta, and DialoGPT's head is lm_head.decoder.
TensorName parse_name(std::string name) {
  for (const std::string_view wrapper :
       {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."}) {
    for (std::size_t at; (at = name.find(wrapper)) != std::string::npos;) {
      name.erase(at, wrapper.size());
    }
  }
  constexpr std::pair<std::string_view, std::string_view> kOlder[] = {
      {".gamma", ".weight"}, {".beta", ".bias"}, {"lm_head.decoder.weight", kHead}};
  for (const auto& [older, present] : kOlder) {
    if (name.ends_with(older)) name.replace(name.size() - older.size(), older.size(), present);
  }
  for (std::size_t at = 0;;) {
    if (is_present_name(name.substr(at))) return {name.substr(0, at), name.substr(at)};
    const std::size_t dot = name.find('.', at);
    if (dot == std::string::npos) return {name, ""};
    at = dot + 1;
  }
}

// The tensors of a checkpoint by HuggingFace's present names. The caller takes them one by one.
// Collects all problems, so that one error message can list them.
class TensorNames {
 public:
  // Throws if the tensors do not belong to one GPT-2. Adds ignored tensors to the description.
  TensorNames(const Checkpoint& checkpoint, ModelDescription& description)
      : where_(checkpoint.files.front().string()), ignored_(description.ignored) {
    find_prefix(checkpoint.tensors);
    for (const auto& tensor : checkpoint.tensors) add(tensor);
    const auto others = ignored_.find(kOtherHead);
    if (others == ignored_.end()) return;
    const std::size_t more = others->second.size() - 1;
    description.warnings.push_back(concat(where_, ": not used: ", quote(others->second[0]),
                                          more > 0 ? concat(" and ", more, " more") : "", ", ",
                                          kOtherHead));
  }

  // Returns the tensor of this name that has not been taken yet, or nullptr if there is none.
  const TensorView* find(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second->second;
  }

  // Takes the tensor of this name and returns it. If there is none, or if it has another shape or a
  // type that cannot be used, records the problem and returns nullptr.
  const TensorView* take(const std::string& name, const Shape& shape, bool is_quantized) {
    const auto found = tensors_.extract(name);
    if (found.empty()) return doubt(name, " ", shape.to_string(), " is missing");
    const auto& [stored_name, view] = *found.mapped();
    if (view.shape != shape) {
      return doubt(stored_name, " has shape ", view.shape.to_string(), ", the config asks for ",
                   shape.to_string());
    }
    const bool is_float = float_type_of(view.dtype) || view.dtype == DType::f64;
    if (is_quantized ? view.dtype == DType::u8 : is_float) return &view;
    return note(stored_name, " is ", name_of(view.dtype),
                is_quantized ? ", quantized weights must be U8"
                             : ", weights must be F32, F16, BF16 or F64: save them as float32");
  }

  // If there is a tensor of this name, takes it and adds it to the ignored tensors.
  void ignore(std::string_view name, const char* reason) {
    const auto found = tensors_.extract(std::string(name));
    if (!found.empty()) ignored_[reason].push_back(found.mapped()->first);
  }

  // REQUIRES: find(from), and not find(to).
  void rename(std::string_view from, const char* to) {
    auto found = tensors_.extract(std::string(from));
    found.key() = to;
    tensors_.insert(std::move(found));
  }

  // Records a problem. Keeps only the first ones: with a wrong config, all tensors are wrong.
  template <class... Parts>
  const TensorView* note(const Parts&... parts) {
    if (problems_++ < kListed) list_ += concat(problems_ > 1 ? "; " : "", parts...);
    return nullptr;
  }

  // Throws an Error that lists the problems if there are any. A tensor that was never taken is one.
  void finish() {
    for (const auto& [name, tensor] : tensors_) {
      doubt(quote(tensor->first), " is not part of a GPT-2 of this config");
    }
    if (problems_ == 0) return;
    fail(where_, list_, problems_ > kListed ? concat("; and ", problems_ - kListed, " more") : "",
         doubts_ ? ": do config.json and the weights belong together?" : "");
  }

 private:
  static constexpr const char* kOtherHead = "the head of another task";
  static constexpr std::size_t kListed = 8;

  // Finds what stands before the names of the model. It may be different for the head, which is not
  // a part of GPT2Model.
  void find_prefix(const TensorTable& tensors) {
    const std::string* first = nullptr;
    for (const auto& [name, view] : tensors) {
      const TensorName parts = parse_name(name);
      if (parts.present.empty() || parts.present == kHead) continue;
      if (first == nullptr) {
        first = &name;
        prefix_ = parts.prefix;
      } else if (parts.prefix != prefix_) {
        fail(where_, "tensors ", quote(*first), " and ", quote(name),
             " have different prefixes; expected the tensors of one model, with the same prefix");
      }
    }
    if (first != nullptr) return;
    if (tensors.empty()) fail(where_, "no tensors");
    fail(where_, "no tensor has a name of GPT-2's; the first of ", tensors.size(), " is ",
         quote(tensors.begin()->first));
  }

  void add(const TensorTable::value_type& tensor) {
    const TensorName parts = parse_name(tensor.first);
    std::string name = parts.present;
    if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) {
      ignored_["a causal mask, as old versions stored it"].push_back(tensor.first);
      return;
    }
    const bool is_stray = name.empty() || (name == kHead && !prefix_.starts_with(parts.prefix));
    if (is_stray) {
      // GPT2Model, which is called "transformer" inside of GPT2LMHeadModel, has no other tensors.
      const bool is_inside = prefix_.ends_with("transformer.") && parts.prefix.starts_with(prefix_);
      const bool is_of_head = tensor.first.find("lm_head.") != std::string::npos;
      if (!is_inside && !is_of_head) return ignored_[kOtherHead].push_back(tensor.first);
      name = tensor.first;  // finish() reports it
    }
    const auto [known, is_new] = tensors_.try_emplace(std::move(name), &tensor);
    if (is_new) return;
    fail(where_, "tensors ", quote(known->second->first), " and ", quote(tensor.first),
         " are both ", quote(known->first));
  }

  // Records a problem for which a config.json of another model may be the reason.
  template <class... Parts>
  const TensorView* doubt(const Parts&... parts) {
    doubts_ = true;
    return note(parts...);
  }

  std::string where_;
  std::string prefix_;
  std::map<std::string, const TensorTable::value_type*, std::less<>> tensors_;  // not taken yet
  std::map<std::string, std::vector<std::string>>& ignored_;
  std::size_t problems_ = 0;
  std::string list_;  // of the first problems
  bool doubts_ = false;
};

// -- From a config to the parts of a transformer -------------------------------------------------

// Returns a tensor of either kind as a weight.
const Weight& as_weight(const Weight& weight) { return weight; }
Weight as_weight(const Tensor& tensor) {
  return {.data = reinterpret_cast<const std::byte*>(tensor.data()), .k = tensor.size(), .n = 1};
}

// Makes the weight refer to the bytes in the file. TensorNames::take has refused other types than
// those of floats, except for F64, which is rounded before.
void fill(Weight& weight, const TensorView& view) {
  weight.data = view.data;
  if (weight.is_quantized()) return;
  weight.type =
      by_type(*float_type_of(view.dtype), WeightType::f32, WeightType::f16, WeightType::bf16);
}

void fill(Tensor& tensor, const TensorView& view) {
  tensor = Tensor(view.shape);
  widen_kernel (*float_type_of(view.dtype))(tensor.data(), view.data, tensor.size());
}

const char* group_of(std::string_view name) {
  if (name.find("ln_") != std::string_view::npos) return "norms";
  if (name.find(".attn.") != std::string_view::npos) return "attention";
  return name.find(".mlp.") != std::string_view::npos ? "mlp" : "embeddings";
}

// Returns whether the tensors have the same bytes. Two of different types count as different: the
// logits are the same if their values are.
bool are_equal(const TensorView& a, const TensorView& b) {
  return a.shape == b.shape && a.dtype == b.dtype && std::memcmp(a.data, b.data, a.bytes) == 0;
}

// Decides which tensor is the head of a model with tie_word_embeddings, as transformers 5 does.
void tie(Config& config, TensorNames& names, std::vector<std::string>& warnings) {
  const TensorView* const head = names.find(kHead);
  const TensorView* const wte = names.find("wte.weight");
  if (!config.tie_word_embeddings || head == nullptr) return;
  if (wte == nullptr) return names.rename(kHead, "wte.weight");
  if (are_equal(*head, *wte)) return names.ignore(kHead, "tied: wte.weight is used in its place");
  config.tie_word_embeddings = false;
  warnings.emplace_back(
      "lm_head.weight differs from wte.weight, so it is used, although the config says "
      "tie_word_embeddings; transformers 4 used wte.weight in its place");
}

// Returns `view` with its elements rounded to f32, in memory that `storage` keeps.
TensorView rounded(const std::string& name, const TensorView& view, TensorNames& names,
                   std::vector<std::shared_ptr<const void>>& storage) {
  const std::size_t size = view.shape.element_count();
  const auto copy = std::make_shared<AlignedBuffer<float>>(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double value = f64_at(view, i);
    copy->data()[i] = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(copy->data()[i])) {
      names.note(name, " holds ", value, ", which is too large for a float32");
      break;
    }
  }
  storage.push_back(copy);
  return {DType::f32, view.shape, reinterpret_cast<const std::byte*>(copy->data()), size * 4};
}

}  // namespace

std::shared_ptr<Transformer> bind_weights(Config config,
                                          const std::shared_ptr<const Checkpoint>& checkpoint,
                                          const LoadOptions& options, const ModelFiles* adapter) {
  if (config.quantized != WeightType::stored && options.dtype != config.quantized &&
      options.dtype != WeightType::stored) {
    fail(ErrorCode::invalid_argument, checkpoint->files.front().string(),
         "its weights are quantized to ", name_of(config.quantized), " already: load it as it is, ",
         "or start from the model that it was made from");
  }
  ModelDescription description = {.files = checkpoint->files, .format = checkpoint->format};
  if (!checkpoint->ignored.empty()) {
    description.ignored["no tensor of the model"] = checkpoint->ignored;
  }
  TensorNames names(*checkpoint, description);
  tie(config, names, description.warnings);
  // nanoGPT and its kin have torch.nn.Linear in the place of HuggingFace's Conv1D.
  const TensorView* const c_attn = names.find("h.0.attn.c_attn.weight");
  const bool is_linear =
      c_attn != nullptr && c_attn->shape == Shape{3 * config.n_embd, config.n_embd};
  // A wrong config may ask for very many layers. If the file cannot have them all, make only 100
  // more than it has tensors: that is enough missing layers for the error message.
  const auto transformer = std::make_shared<Transformer>(
      Transformer::without_weights(config, is_linear ? Weight::Layout::nk : Weight::Layout::kn,
                                   checkpoint->tensors.size() + 100));
  transformer->storage = {checkpoint};
  // A nanoGPT model may have been trained without biases. Then its quantized copy has none either.
  const bool has_biases =
      (!is_linear && config.quantized == WeightType::stored) || names.find("ln_f.bias") != nullptr;
  // A tensor with a problem stays empty, and finish() throws an error that lists the problems.
  for_each_tensor(*transformer, [&](auto& tensor, const std::string& name, const Shape& shape) {
    if (!has_biases && name.ends_with(".bias")) return;
    const TensorView* const view = names.take(name, shape, as_weight(tensor).is_quantized());
    if (view == nullptr) return;
    const bool is_f64 = view->dtype == DType::f64;
    fill(tensor, is_f64 ? rounded(name, *view, names, transformer->storage) : *view);
    const std::string_view quantized = config.quantized == WeightType::int4 ? "INT4" : "INT8";
    const std::string_view type = view->dtype == DType::u8 ? quantized : name_of(view->dtype);
    ++description.dtypes[group_of(name)][std::string(type)];
    ++description.tensors;
    transformer->parameters += tensor.size();
  });
  names.finish();
  transformer->description = std::move(description);
  const MergedMatrices merged = adapter ? merge_adapter(*transformer, *adapter) : MergedMatrices();
  convert_all(*transformer, options.dtype, checkpoint->mappings, options.progress);
  keep_used(*transformer, merged);
  return transformer;
}

std::vector<NamedWeight> weights_of(const Model& model) {
  std::vector<NamedWeight> list;
  for_each_tensor(*model.transformer(),
                  [&](const auto& tensor, const std::string& name, const Shape& shape) {
                    const Weight& weight = as_weight(tensor);
                    if (weight.size() == 0) return;  // a bias that the checkpoint does not have
                    const auto sizes = shape.sizes();
                    list.push_back({.name = name,
                                    .shape = {sizes.begin(), sizes.end()},
                                    .type = weight.type,
                                    .bytes = {weight.data, weight.bytes()}});
                  });
  return list;
}

}  // namespace gpt2
