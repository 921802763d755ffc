#include "model/loading/loading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/team.h"
#include "gpt2/runtime.h"
#include "model/loading/adapter_settings.h"
#include "model/loading/config_json.h"

namespace gpt2 {
namespace {

using Floats = std::vector<float>;
using StoredTensors = std::map<std::string, const TensorTable::value_type*>;

// -- The tensors ----------------------------------------------------------------------------------

Checkpoint open_tensors(ModelFiles files) {
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"}) {
    files.weights = files.directory / name;
    if (!files.source.has(files.weights)) continue;
    Checkpoint checkpoint = Checkpoint::open(files);
    if (checkpoint.tensors.empty()) fail(files.weights.string(), "no tensors");
    return checkpoint;
  }
  fail(ErrorCode::not_found, files.adapter.string(),
       "neither adapter_model.safetensors nor adapter_model.bin is beside it");
}

std::string_view path_in_base(std::string_view stored_name) {
  constexpr std::string_view kPrefix = "base_model.model.";
  return stored_name.substr(stored_name.starts_with(kPrefix) ? kPrefix.size() : 0);
}

// Returns "transformer.h.0.attn.c_attn" for a tensor of the module "h.0.attn.c_attn".
std::string_view path_of_module(std::string_view stored_name, std::string_view module) {
  const std::string_view path = path_in_base(stored_name);
  return path.substr(0, path.find(module) + module.size());
}

// Returns whether PEFT writes the tensor, but does not read it, or uses it for training only.
bool is_for_training(std::string_view name) {
  constexpr std::string_view kParts[] = {
      ".original_module.",  ".modules_to_save.",         ".trainable_tokens_original",
      ".lora_velora_embed", ".lora_monteclora_sampler.",
  };
  return std::ranges::any_of(kParts, [&](auto part) { return name.find(part) != name.npos; });
}

// Returns the tensors that count, by HuggingFace's names in the base:
// "h.0.attn.c_attn.lora_A.weight". Adds a line about the others to `warnings`.
StoredTensors by_names_in_base(const Checkpoint& checkpoint, const AdapterSettings& settings,
                               std::vector<std::string>& warnings) {
  const std::string where = checkpoint.files.front().string();
  StoredTensors tensors;
  std::vector<std::string> left_out;
  for (const auto& tensor : checkpoint.tensors) {
    const std::string_view path = path_in_base(tensor.first);
    if (is_for_training(path)) continue;
    const std::size_t lora = path.find(".lora_");
    if (lora != path.npos && !settings.targets(path.substr(0, lora))) {
      left_out.push_back(tensor.first);
      continue;
    }
    std::string name(path);
    if (name.starts_with("transformer.")) name.erase(0, 12);
    for (const std::string_view wrapper : {".token_adapter.base_layer", ".base_layer"}) {
      const std::size_t wrapped = name.find(wrapper);
      if (wrapped != std::string::npos) name.erase(wrapped, wrapper.size());
    }
    if (tensors.try_emplace(name, &tensor).second) continue;
    fail(where, "tensors ", quote(tensors[name]->first), " and ", quote(tensor.first), " are both ",
         quote(name));
  }
  if (!left_out.empty()) {
    warnings.push_back(
        concat(where, ": not used: ", quote(left_out[0]),
               left_out.size() > 1 ? concat(" and ", left_out.size() - 1, " more") : "",
               ", which adapter_config.json leaves out, as in PEFT"));
  }
  return tensors;
}

// -- The merge ------------------------------------------------------------------------------------

// The change of a matrix: factor * (up down), and then the length of each output feature. In an
// embedding, PEFT takes the channels for the output features, and the tokens for the input.
struct LowRank {
  Floats up = {};    // (n, r)
  Floats down = {};  // (r, k)
  std::size_t r = 0;
  double factor = 0.0;
  Floats magnitude = {};  // (n), or empty
};

// Returns the sizes and the layout that the matrix of a module has for PEFT.
Weight as_linear(Weight weight, std::string_view module) {
  if (module != "wte" && module != "wpe") return weight;
  std::swap(weight.k, weight.n);
  weight.layout = Weight::Layout::kn;
  return weight;
}

// Changes the matrix `y`, which has the sizes and the layout of `weight`.
void apply(Team& team, float* y, const Weight& weight, const LowRank& change) {
  constexpr std::size_t kRun = 16;  // features at a time: a line of the cache, in rows of [in, out]
  const bool is_kn = weight.layout == Weight::Layout::kn;
  const std::size_t of_k = is_kn ? weight.n : 1;
  const std::size_t of_n = is_kn ? 1 : weight.k;
  std::vector<double> columns(static_cast<std::size_t>(team.size()) * weight.k);
  team.for_ranges(weight.n, kRun, [&](std::size_t begin, std::size_t end, int rank) {
    double* const column = columns.data() + static_cast<std::size_t>(rank) * weight.k;
    for (std::size_t n = begin; n < end; ++n) {
      for (std::size_t k = 0; k < weight.k; ++k) column[k] = y[n * of_n + k * of_k];
      for (std::size_t i = 0; i < change.r; ++i) {
        const double factor = change.factor * change.up[n * change.r + i];
        const float* const row = change.down.data() + i * weight.k;
        for (std::size_t k = 0; k < weight.k; ++k) column[k] += factor * row[k];
      }
      double scale = 1.0;
      if (!change.magnitude.empty()) {
        double squares = 0.0;
        for (std::size_t k = 0; k < weight.k; ++k) squares += column[k] * column[k];
        scale = change.magnitude[n] / std::sqrt(squares);
      }
      for (std::size_t k = 0; k < weight.k; ++k) {
        y[n * of_n + k * of_k] = static_cast<float>(column[k] * scale);
      }
    }
  });
}

template <class... Parts>
void require_finite(std::span<const float> values, const std::string& where, const Parts&... what) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(values, is_finite))
    fail(where, what..., "a NaN, an infinity or a number beyond float32");
}

// Takes the tensors one by one, for the parts of a transformer that for_each_tensor shows.
class Merger {
 public:
  Merger(const AdapterSettings& settings, std::string file, StoredTensors tensors, bool was_tied)
      : settings_(settings),
        file_(std::move(file)),
        tensors_(std::move(tensors)),
        was_tied_(was_tied) {}

  void merge(Weight& weight, const std::string& name, const Shape& shape) {
    const std::string module = name.substr(0, name.rfind('.'));
    const Floats whole = take(name, shape);
    const LowRank change = take_change(module, as_linear(weight, module));
    const Rows rows = take_rows(module, weight);
    if (whole.empty() && change.up.empty() && rows.values.empty()) return;
    const auto buffer = std::make_shared<AlignedBuffer<float>>(weight.size());
    float* const y = buffer->data();
    if (whole.empty()) {
      widen_kernel (*weight.float_type())(y, weight.data, weight.size());
    } else {
      std::ranges::copy(whole, y);
    }
    if (!change.up.empty()) apply(team_, y, as_linear(weight, module), change);
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
      std::copy_n(&rows.values[i * weight.k], weight.k, y + rows.tokens[i] * weight.k);
    }
    require_finite({y, weight.size()}, file_, "merged, ", quote(name), " contains ");
    weight.data = reinterpret_cast<const std::byte*>(y);
    weight.type = WeightType::f32;
    matrices.emplace(weight.data, buffer);
  }

  void merge(Tensor& tensor, const std::string& name, const Shape& shape) {
    if (tensor.size() == 0) return;  // a bias that the base does not have
    if (Floats whole = take(name, shape); !whole.empty()) tensor = Tensor(shape, std::move(whole));
    if (name != changed_ + ".bias") return;
    const Floats change = take(changed_ + ".lora_B.bias", shape);
    for (std::size_t i = 0; i < change.size(); ++i) {
      tensor.data()[i] = static_cast<float>(tensor.data()[i] + factor_ * change[i]);
    }
    require_finite({tensor.data(), tensor.size()}, file_, "merged, ", quote(name), " contains ");
  }

  // Throws if a tensor has not been taken.
  void finish() const {
    if (tensors_.empty()) return;
    const std::string& task = settings_.task_type;
    fail(file_, "tensor ", quote(tensors_.begin()->second->first), " has no place in the base, as ",
         tensors_.size(), " of the adapter's tensors",
         task.empty() || task == "CAUSAL_LM" ? ""
                                             : concat("; its task_type is ", quote(task),
                                                      ", expected 'CAUSAL_LM', a language model"));
  }

  MergedMatrices matrices;

 private:
  // Rows of a matrix that replace those of the base.
  struct Rows {
    std::vector<std::size_t> tokens = {};
    Floats values = {};
  };

  // Returns the values of a tensor, or none if there is no such tensor. `why` explains the shape.
  Floats take(const std::string& name, const Shape& shape, const std::string& why = "") {
    const auto found = tensors_.extract(name);
    if (found.empty()) return {};
    const auto& [stored_name, view] = *found.mapped();
    const std::string where = concat(file_, ": tensor ", quote(stored_name));
    if (view.shape != shape) {
      fail(where, "its shape is ", view.shape.to_string(), "; expected ", shape.to_string(), why);
    }
    const auto type = float_type_of(view.dtype);
    Floats values(shape.element_count());
    if (type) {
      widen_kernel (*type)(values.data(), view.data, values.size());
    } else if (view.dtype == DType::f64) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(f64_at(view, i));
    } else {
      fail(where, "it is ", name_of(view.dtype), "; expected F32, F16, BF16 or F64");
    }
    require_finite(values, where, "it contains ");
    return values;
  }

  Floats require(const std::string& name, const Shape& shape, const std::string& why = "") {
    if (!tensors_.contains(name)) fail(file_, "tensor ", quote(name), " is missing");
    return take(name, shape, why);
  }

  LowRank take_change(const std::string& module, const Weight& linear) {
    const bool is_table = module == "wte" || module == "wpe";
    const std::string a = module + (is_table ? ".lora_embedding_A" : ".lora_A.weight");
    const std::string b = module + (is_table ? ".lora_embedding_B" : ".lora_B.weight");
    const auto found = tensors_.find(tensors_.contains(a) ? a : b);
    if (found == tensors_.end()) return {};
    const auto [r, factor] = settings_.scaling_of(path_of_module(found->second->first, module));
    const std::string why = concat(", because r is ", r);
    LowRank change{.r = r, .factor = factor};
    change.down = require(a, Shape{r, linear.k}, why);
    change.up = require(b, Shape{linear.n, r}, why);
    changed_ = module;
    factor_ = factor;
    if (!settings_.use_dora) return change;
    change.magnitude = require(module + ".lora_magnitude_vector", Shape{linear.n});
    return change;
  }

  Rows take_rows(const std::string& module, const Weight& weight) {
    const std::string name = module + ".token_adapter.trainable_tokens_delta";
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return module == "lm_head" ? rows_of_both_ : Rows();
    Rows rows = {.tokens = settings_.tokens_of(path_of_module(found->second->first, module))};
    for (const std::size_t token : rows.tokens) {
      if (token < weight.n) continue;
      fail(file_, "trainable_token_indices has ", token, "; expected less than ", weight.n,
           ": save the larger wte with the adapter (save_embedding_layers=True)");
    }
    rows.values = take(name, Shape{rows.tokens.size(), weight.k}, ", by trainable_token_indices");
    if (module == "wte" && was_tied_) rows_of_both_ = rows;
    return rows;
  }

  const AdapterSettings& settings_;
  std::string file_;
  StoredTensors tensors_;  // not taken yet
  bool was_tied_;          // whether the base uses wte as lm_head
  Rows rows_of_both_;
  Team team_{thread_count()};
  std::string changed_;  // the module that was changed last, and its factor
  double factor_ = 0.0;
};

// Unless the adapter changes only rows of both, wte and lm_head are no longer the same.
void untie(Transformer& transformer, const StoredTensors& tensors) {
  const auto changes_one = [](const auto& tensor) {
    const std::string& name = tensor.first;
    return name.starts_with("lm_head.") ||
           (name.starts_with("wte.") && !name.starts_with("wte.token_adapter."));
  };
  if (!transformer.config.tie_word_embeddings || std::ranges::none_of(tensors, changes_one)) return;
  transformer.config.tie_word_embeddings = false;
  transformer.lm_head = transformer.embedding.wte;
  transformer.parameters += transformer.lm_head.size();
}

// Takes the number of tokens from whole matrices in the file, which have more rows than the base's
// if tokens were added before the training.
void resize(Transformer& transformer, const StoredTensors& tensors, const std::string& file) {
  const auto resize_one = [&](const char* name, Weight& weight) {
    const auto found = tensors.find(name);
    if (found == tensors.end() || found->second->second.shape.rank() != 2) return;
    const std::size_t rows = found->second->second.shape[0];
    if (rows == 0 || rows > std::numeric_limits<TokenId>::max()) return;
    transformer.parameters += (rows - weight.n) * weight.k;
    weight.n = rows;
  };
  Weight& wte = transformer.embedding.wte;
  resize_one("wte.weight", wte);
  resize_one("lm_head.weight", transformer.lm_head);
  if (wte.n != transformer.lm_head.n) {
    fail(file, "wte has ", wte.n, " rows and lm_head ", transformer.lm_head.n,
         "; expected both matrices of a model to which tokens were added: save it with PEFT's "
         "save_embedding_layers=True");
  }
  transformer.config.vocab_size = wte.n;
}

}  // namespace

MergedMatrices merge_adapter(Transformer& transformer, const ModelFiles& files) {
  const std::string where = files.adapter.string();
  const std::string config = read_file(files.adapter, kMaxConfigBytes, files.source);
  const AdapterSettings settings(config, where);
  if (transformer.config.quantized != WeightType::stored) {
    fail(ErrorCode::unsupported, where, "the weights of its base are ",
         name_of(transformer.config.quantized), ": give the model that the base was made from");
  }
  const Checkpoint checkpoint = open_tensors(files);
  const std::string file = checkpoint.files.front().string();
  ModelDescription& description = transformer.description;
  const StoredTensors tensors = by_names_in_base(checkpoint, settings, description.warnings);
  Merger merger(settings, file, tensors, transformer.config.tie_word_embeddings);
  untie(transformer, tensors);
  resize(transformer, tensors, file);
  for_each_tensor(transformer, [&](auto& tensor, const std::string& name, const Shape& shape) {
    merger.merge(tensor, name, shape);
  });
  merger.finish();
  Hash hash;
  hash.add(checkpoint.mappings.front().bytes());
  hash.add(std::as_bytes(std::span(config)));
  transformer.adapter_hash = hash.value();
  description.format += concat(", merged with an adapter of ", tensors.size(), " tensors");
  description.files.insert(description.files.begin(), {files.adapter, checkpoint.files.front()});
  return std::move(merger.matrices);
}

void keep_used(Transformer& transformer, const MergedMatrices& matrices) {
  for_each_weight(transformer, [&](const Weight& weight) {
    const auto found = matrices.find(weight.data);
    if (found == matrices.end()) return;
    transformer.storage.push_back(found->second);
    transformer.description.mapped_bytes -= weight.bytes();
    transformer.description.converted_bytes += weight.bytes();
  });
}

}  // namespace gpt2
