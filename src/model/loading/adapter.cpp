#include "model/loading/loading.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/team.h"
#include "gpt2/runtime.h"
#include "model/loading/config_json.h"

namespace gpt2 {
namespace {

using Floats = std::vector<float>;
using StoredTensors = std::map<std::string, const TensorTable::value_type*>;

// -- The settings ---------------------------------------------------------------------------------

// Keeps the order of the members of each object in the root.
class OrderedTree : public JsonTree {
 public:
  using JsonTree::JsonTree;

  bool key(std::string& name) override {
    if (depth_ == 1) outer_ = name;
    if (depth_ == 2) orders[outer_].push_back(name);
    return JsonTree::key(name);
  }

  std::map<std::string, std::vector<std::string>> orders = {};

 private:
  std::string outer_;
};

// Throws unless merging the tensors is all that the adapter needs.
void refuse_other_methods(const JsonFields& config) {
  config.expect(config.required_string("peft_type") == "LORA", "peft_type", "'LORA'");
  for (const char* key : {"layer_replication", "alora_invocation_tokens", "target_parameters",
                          "use_qalora", "use_bdlora", "arrow_config"}) {
    const nlohmann::json* const value = config.find(key);
    config.expect(!value || value->empty() || *value == false, key, "an adapter without it");
  }
  const nlohmann::json* const init = config.find("init_lora_weights");
  config.expect(!init || init->is_boolean() || is_text(*init, "gaussian") ||
                    is_text(*init, "eva") || is_text(*init, "orthogonal"),
                "init_lora_weights",
                "one that leaves the base as it is: convert the adapter with PEFT's "
                "path_initial_model_for_weight_conversion");
}

// Reads rank_pattern or alpha_pattern, whose values are in these limits.
template <class T, class... Limits>
void read_patterns(OrderedTree& tree, const JsonFields& config, const char* key,
                   std::vector<std::pair<std::string, T>>& patterns, Limits... limits) {
  constexpr std::size_t kMaxPatterns = 1'000;
  if (config.find(key) == nullptr) return;
  const JsonFields object(*config.find(key), concat(config.where(), ": ", key),
                          JsonFields::Null::refused);
  const std::vector<std::string>& names = tree.orders[key];
  if (names.size() > kMaxPatterns) fail(object.where(), "more than ", kMaxPatterns, " patterns");
  for (const std::string& name : names) {
    static_cast<void>(matches_module(name, "", object.where()));  // or throws
    object.read(name, patterns.emplace_back(name, T()).second, limits...);
  }
}

// The members of PEFT's adapter_config.json that matter for a merge, with PEFT's names.
struct Settings {
  std::size_t r = 8;
  float lora_alpha = 8.0f;
  bool use_rslora = false;
  bool use_dora = false;
  bool ensure_weight_tying = false;
  // In the order of the file, because the first pattern that matches counts.
  std::vector<std::pair<std::string, std::size_t>> rank_pattern = {};
  std::vector<std::pair<std::string, float>> alpha_pattern = {};

  // Throws Error(unsupported) for another method than LoRA, and for settings that change more than
  // weights or the base.
  Settings(const std::string& text, const std::string& where) {
    constexpr std::size_t kMaxRank = 1'000'000;  // far above the rank of any matrix of a GPT-2
    OrderedTree tree(where);
    tree.read(text);
    const JsonFields config(tree.root, where);
    refuse_other_methods(config);
    config.read("r", r, 1, kMaxRank);
    config.read("lora_alpha", lora_alpha);
    config.read("use_rslora", use_rslora);
    config.read("use_dora", use_dora);
    config.read("ensure_weight_tying", ensure_weight_tying);
    read_patterns(tree, config, "rank_pattern", rank_pattern, std::size_t{1}, kMaxRank);
    read_patterns(tree, config, "alpha_pattern", alpha_pattern);
  }

  // Returns the rank of a pair of matrices, and what their product counts. `path` is the module's
  // name in the model that was trained: "transformer.h.0.attn.c_attn".
  [[nodiscard]] std::pair<std::size_t, double> scaling_of(std::string_view path) const {
    const auto find = [&](const auto& patterns, auto value) {
      const auto matches = [&](const auto& entry) { return matches_module(entry.first, path, ""); };
      const auto found = std::ranges::find_if(patterns, matches);
      return found == patterns.end() ? value : found->second;
    };
    const std::size_t rank = find(rank_pattern, r);
    const double divisor = static_cast<double>(rank);
    return {rank, static_cast<double>(find(alpha_pattern, lora_alpha)) /
                      (use_rslora ? std::sqrt(divisor) : divisor)};
  }
};

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

// Returns the tensors by HuggingFace's names in the base: "h.0.attn.c_attn.lora_A.weight".
StoredTensors by_names_in_base(const Checkpoint& checkpoint) {
  StoredTensors tensors;
  for (const auto& tensor : checkpoint.tensors) {
    std::string name(path_in_base(tensor.first));
    if (name.starts_with("transformer.")) name.erase(0, 12);
    const std::size_t wrapped = name.find(".base_layer");
    if (wrapped != std::string::npos) name.erase(wrapped, 11);
    if (tensors.try_emplace(name, &tensor).second) continue;
    fail(checkpoint.files.front().string(), "tensors ", quote(tensors[name]->first), " and ",
         quote(tensor.first), " are both ", quote(name));
  }
  return tensors;
}

// -- The merge ------------------------------------------------------------------------------------

// The change of a matrix: factor * (up down), and then the length of each output feature.
struct LowRank {
  Floats up = {};    // (n, r)
  Floats down = {};  // (r, k)
  std::size_t r = 0;
  double factor = 0.0;
  Floats magnitude = {};  // (n), or empty
};

// Returns the transpose of a matrix with this number of rows.
Floats transposed(const Floats& x, std::size_t rows) {
  Floats y(x.size());
  const std::size_t cols = x.size() / rows;
  for (std::size_t i = 0; i < y.size(); ++i) y[i % cols * rows + i / cols] = x[i];
  return y;
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
  if (!std::ranges::all_of(values, is_finite)) fail(where, what..., "a NaN or an infinity");
}

// Takes the tensors one by one, for the parts of a transformer that for_each_tensor shows.
class Merger {
 public:
  Merger(const Settings& settings, std::string file, StoredTensors tensors)
      : settings_(settings), file_(std::move(file)), tensors_(std::move(tensors)) {}

  void merge(Weight& weight, const std::string& name, const Shape& shape) {
    const Floats whole = take(name, shape);
    const LowRank change = take_change(name.substr(0, name.rfind('.')), weight);
    if (whole.empty() && change.up.empty()) return;
    const auto buffer = std::make_shared<AlignedBuffer<float>>(weight.size());
    if (whole.empty()) {
      widen_kernel (*weight.float_type())(buffer->data(), weight.data, weight.size());
    } else {
      std::ranges::copy(whole, buffer->data());
    }
    if (!change.up.empty()) apply(team_, buffer->data(), weight, change);
    require_finite({buffer->data(), weight.size()}, file_, "merged, ", quote(name), " contains ");
    weight.data = reinterpret_cast<const std::byte*>(buffer->data());
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
    fail(file_, "tensor ", quote(tensors_.begin()->second->first), " has no place in the base, as ",
         tensors_.size(), " of the adapter's tensors");
  }

  MergedMatrices matrices;

 private:
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
    if (!type) fail(where, "it is ", name_of(view.dtype), "; expected F32, F16 or BF16");
    Floats values(shape.element_count());
    widen_kernel (*type)(values.data(), view.data, values.size());
    require_finite(values, where, "it contains ");
    return values;
  }

  Floats require(const std::string& name, const Shape& shape, const std::string& why = "") {
    if (!tensors_.contains(name)) fail(file_, "tensor ", quote(name), " is missing");
    return take(name, shape, why);
  }

  LowRank take_change(const std::string& module, const Weight& weight) {
    const bool is_table = module == "wte" || module == "wpe";
    const std::string a = module + (is_table ? ".lora_embedding_A" : ".lora_A.weight");
    const std::string b = module + (is_table ? ".lora_embedding_B" : ".lora_B.weight");
    const auto found = tensors_.find(tensors_.contains(a) ? a : b);
    if (found == tensors_.end()) return {};
    const std::string_view path = path_in_base(found->second->first);
    const auto [r, factor] =
        settings_.scaling_of(path.substr(0, path.find(module) + module.size()));
    const std::string why = concat(", because r is ", r);
    Floats down = require(a, Shape{r, is_table ? weight.n : weight.k}, why);
    Floats up = require(b, Shape{is_table ? weight.k : weight.n, r}, why);
    changed_ = module;
    factor_ = factor;
    if (is_table) return {transposed(down, r), transposed(up, weight.k), r, factor, {}};
    LowRank change{std::move(up), std::move(down), r, factor, {}};
    if (!settings_.use_dora) return change;
    change.magnitude = require(module + ".lora_magnitude_vector", Shape{weight.n});
    return change;
  }

  const Settings& settings_;
  std::string file_;
  StoredTensors tensors_;  // not taken yet
  Team team_{thread_count()};
  std::string changed_;  // the module that was changed last, and its factor
  double factor_ = 0.0;
};

void untie(Transformer& transformer, const StoredTensors& tensors) {
  const auto has = [&](const std::string& begin) {
    const auto first = tensors.lower_bound(begin);
    return first != tensors.end() && first->first.starts_with(begin);
  };
  if (!transformer.config.tie_word_embeddings || (!has("wte.") && !has("lm_head."))) return;
  transformer.config.tie_word_embeddings = false;
  transformer.lm_head = transformer.embedding.wte;
  transformer.parameters += transformer.lm_head.size();
}

}  // namespace

bool matches_module(std::string_view pattern, std::string_view name, std::string_view where) {
  using Places = std::bitset<256>;  // bit i is the place before the character i of the name
  const auto refuse = [&] {
    fail(ErrorCode::unsupported, where, "the pattern ", quote(pattern),
         " is not supported; expected a name, with . \\. \\d * + | and ^ at the beginning");
  };
  constexpr std::string_view kSpecial = "\\*+?()[]{}^$|";
  if (pattern.size() >= Places().size() || name.size() >= Places().size()) refuse();
  if (const std::size_t bar = pattern.find('|'); bar != pattern.npos) {
    const bool is_first = matches_module(pattern.substr(0, bar), name, where);
    return matches_module(pattern.substr(bar + 1), name, where) || is_first;
  }
  // The places that each way to match the pattern so far has reached, so the time is polynomial.
  Places reached = 1;
  const bool is_anchored = pattern.starts_with('^');
  for (std::size_t i = 0; i < name.size(); ++i) reached[i + 1] = !is_anchored && name[i] == '.';
  for (std::size_t i = is_anchored; i < pattern.size(); ++i) {
    const bool is_escaped = pattern[i] == '\\' && i + 1 < pattern.size();
    const char c = pattern[is_escaped ? ++i : i];
    if (is_escaped ? c != '.' && c != 'd' : kSpecial.find(c) != kSpecial.npos) refuse();
    const auto matches = [&](char other) {
      if (is_escaped && c == 'd') return other >= '0' && other <= '9';
      return other == c || (c == '.' && !is_escaped);
    };
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    const bool repeats = next == '*' || next == '+';
    i += repeats;
    Places ends = next == '*' ? reached : Places();
    for (std::size_t at = 0; at < name.size(); ++at) {
      const bool is_here = reached[at] || (repeats && ends[at]);
      if (is_here && matches(name[at])) ends[at + 1] = true;
    }
    reached = ends;
  }
  return reached[name.size()];
}

MergedMatrices merge_adapter(Transformer& transformer, const ModelFiles& files) {
  const std::string where = files.adapter.string();
  const std::string config = read_file(files.adapter, kMaxConfigBytes, files.source);
  const Settings settings(config, where);
  if (transformer.config.quantized != WeightType::stored) {
    fail(ErrorCode::unsupported, where, "the weights of its base are ",
         name_of(transformer.config.quantized), ": give the model that the base was made from");
  }
  const Checkpoint checkpoint = open_tensors(files);
  const StoredTensors tensors = by_names_in_base(checkpoint);
  if (!settings.ensure_weight_tying) untie(transformer, tensors);
  Merger merger(settings, checkpoint.files.front().string(), tensors);
  for_each_tensor(transformer, [&](auto& tensor, const std::string& name, const Shape& shape) {
    merger.merge(tensor, name, shape);
  });
  merger.finish();
  Hash hash;
  hash.add(checkpoint.mappings.front().bytes());
  hash.add(std::as_bytes(std::span(config)));
  transformer.adapter_hash = hash.value();
  ModelDescription& description = transformer.description;
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
