#include "model/loading/adapter_settings.h"

#include <algorithm>
#include <bitset>
#include <cmath>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Follows a regular expression of Python through a name. All ways to match are followed at once, so
// that no pattern takes long.
class PatternMatcher {
 public:
  PatternMatcher(std::string_view pattern, std::string_view name, std::string_view where)
      : pattern_(pattern), name_(name), where_(where) {
    if (pattern.size() > 1'000 || name.size() >= Places().size()) refuse();
  }

  bool matches() {
    const Places ends = alternatives(Places(1));
    if (at_ < pattern_.size()) refuse();
    return ends[name_.size()];
  }

 private:
  using Places = std::bitset<256>;  // bit i is the place before character i of the name

  [[noreturn]] void refuse() const {
    fail(ErrorCode::unsupported, where_, "the pattern ", quote(pattern_, 256),
         " is not supported; expected a name, with . \\. \\d \\w * + ? | [] () ^ $");
  }

  bool accept(std::string_view next) {
    if (!pattern_.substr(at_).starts_with(next)) return false;
    at_ += next.size();
    return true;
  }

  char take() {
    if (at_ == pattern_.size()) refuse();
    return pattern_[at_++];
  }

  // alternatives() and item() read a part of the pattern, and return the places at which a match of
  // this part that begins at one of `from` can end.
  Places alternatives(const Places& from) {
    Places ends;
    do {
      Places reached = from;
      while (at_ < pattern_.size() && pattern_[at_] != '|' && pattern_[at_] != ')') {
        reached = item(reached);
      }
      ends |= reached;
    } while (accept("|"));
    return ends;
  }

  Places item(const Places& from) {
    if (accept("^")) return from & Places(1);
    if (accept("$")) return from & (Places(1) << name_.size());
    if (accept("(")) {
      if (++depth_ > 20) refuse();
      accept("?:");
      const Places ends = alternatives(from);
      if (!accept(")")) refuse();
      --depth_;
      return accept("?") ? from | ends : ends;
    }
    const Places here = character();
    const bool is_any = accept("*"), is_repeated = is_any || accept("+");
    Places ends = (from & here) << 1;
    for (std::size_t i = 1; is_repeated && i < name_.size(); ++i) ends |= (ends & here) << 1;
    const bool is_lazy = accept("?");  // behind * and +, this changes only which match comes first
    return is_any || (is_lazy && !is_repeated) ? ends | from : ends;
  }

  // The others read what stands for one character, and return its places in the name.
  Places character() {
    constexpr std::string_view kSpecial = "*+?()]{}^$|";
    const char c = take();
    if (c == '.') return ~Places();
    if (kSpecial.find(c) != kSpecial.npos) refuse();
    if (c != '[') return one(c);
    const bool is_negated = accept("^");
    Places places;
    do {
      const char first = take();
      const std::string_view rest = pattern_.substr(at_);
      const bool is_range = first != '\\' && rest.starts_with('-') && !rest.starts_with("-]");
      if (is_range) ++at_;
      places |= is_range ? range(first, take()) : one(first);
    } while (!accept("]"));
    return is_negated ? ~places : places;
  }

  Places one(char c) {
    if (c != '\\') return range(c, c);
    const char escaped = take();
    const Places digits = range('0', '9');
    if (escaped == 'd') return digits;
    if (escaped == 'w') return digits | range('a', 'z') | range('A', 'Z') | range('_', '_');
    if ((escaped | 32) >= 'a' && (escaped | 32) <= 'z') refuse();
    return range(escaped, escaped);
  }

  Places range(char first, char last) const {
    Places places;
    for (std::size_t i = 0; i < name_.size(); ++i)
      places[i] = first <= name_[i] && name_[i] <= last;
    return places;
  }

  std::string_view pattern_, name_, where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// Throws unless merging the tensors is all that the adapter needs.
void refuse_other_methods(const JsonFields& config) {
  config.expect(config.required_string("peft_type") == "LORA", "peft_type", "'LORA'");
  for (const char* key : {"layer_replication", "alora_invocation_tokens", "target_parameters",
                          "use_qalora", "use_bdlora", "arrow_config", "kasa_config"}) {
    const json* const value = config.find(key);
    config.expect(!value || value->empty() || *value == false, key, "an adapter without it");
  }
  const json* const init = config.find("init_lora_weights");
  const auto is_init = [&](const char* name) { return is_text(*init, name); };
  constexpr const char* kPlain[] = {"gaussian", "eva", "orthogonal", "mica"};
  config.expect(!init || init->is_boolean() || std::ranges::any_of(kPlain, is_init),
                "init_lora_weights",
                "one that leaves the base as it is: convert the adapter with PEFT's "
                "path_initial_model_for_weight_conversion");
}

// Reads rank_pattern or alpha_pattern, whose values are in these limits.
template <class T, class... Limits>
void read_patterns(const JsonFields& config, const char* key, const std::vector<std::string>& names,
                   std::vector<std::pair<std::string, T>>& patterns, Limits... limits) {
  if (config.find(key) == nullptr) return;
  const JsonFields object(*config.find(key), concat(config.where(), ": ", key),
                          JsonFields::Null::refused);
  for (const std::string& name : names) {
    static_cast<void>(matches_module(name, "", object.where()));  // or throws
    object.read(name, patterns.emplace_back(name, T()).second, limits...);
  }
}

bool is_or_ends_in(std::string_view path, std::string_view name) {
  return path == name || path.ends_with(concat(".", name));
}

}  // namespace

bool AdapterSettings::Tree::key(std::string& name) {
  if (depth_ == 1) outer = name;
  if (depth_ == 2) orders[outer].push_back(name);
  return JsonTree::key(name);
}

AdapterSettings::AdapterSettings(const std::string& text, std::string_view where)
    : tree_(where), where_(where) {
  constexpr std::size_t kMaxR = 1'000'000;  // far above the rank of any matrix of a GPT-2
  constexpr std::size_t kMaxEntries = 1'000;
  tree_.read(text);
  const JsonFields config(tree_.root, std::string(where));
  refuse_other_methods(config);
  task_type = config.string("task_type").value_or("");
  config.read("r", r_, 1, kMaxR);
  config.read("lora_alpha", lora_alpha_);
  config.read("use_rslora", use_rslora_);
  config.read("use_dora", use_dora);
  json& targets = tree_.root["target_modules"];
  if (is_text(targets, "all-linear")) targets = ".*\\.(c_attn|c_proj|c_fc)";
  if (targets.is_null()) targets.push_back("c_attn");  // PEFT's default for GPT-2
  for (const char* key : {"target_modules", "exclude_modules", "modules_to_save", "layers_pattern",
                          "layers_to_transform", "rank_pattern", "alpha_pattern"}) {
    const json* const value = config.find(key);
    if (value && value->size() > kMaxEntries)
      fail(where, key, " has over ", kMaxEntries, " values");
    static_cast<void>(selects(key, ""));  // or throws
  }
  auto& orders = tree_.orders;
  read_patterns(config, "rank_pattern", orders["rank_pattern"], rank_pattern_, 1u, kMaxR);
  read_patterns(config, "alpha_pattern", orders["alpha_pattern"], alpha_pattern_);
}

bool AdapterSettings::selects(const char* key, std::string_view path) const {
  const auto found = tree_.root.find(key);
  if (found == tree_.root.end()) return false;
  if (const auto* const pattern = found->get_ptr<const std::string*>()) {
    return matches_pattern(*pattern, path, concat(where_, ": ", key));
  }
  return std::ranges::any_of(*found, [&](const json& element) {
    const auto* const name = element.get_ptr<const std::string*>();
    return name != nullptr && is_or_ends_in(path, *name);
  });
}

bool AdapterSettings::targets(std::string_view path) const {
  if (!selects("target_modules", path) || selects("exclude_modules", path) ||
      selects("modules_to_save", path)) {
    return false;
  }
  const json& names = tree_.root["target_modules"];
  const auto is_path = [&](const json& name) { return is_text(name, path); };
  const auto layers = tree_.root.find("layers_to_transform");
  const bool has_layers = layers != tree_.root.end() && !layers->empty();
  if (!has_layers || names.is_string() || std::ranges::any_of(names, is_path)) return true;
  const auto pattern = tree_.root.find("layers_pattern");
  const bool has_pattern = pattern != tree_.root.end() && !pattern->empty();
  const std::size_t at = path.find(".h.");
  if (at == path.npos || (has_pattern && !selects("layers_pattern", "h"))) return false;
  const std::string_view rest = path.substr(at + 3);
  std::size_t layer = 0;
  return read_number(rest.substr(0, rest.find('.')), layer) &&
         std::ranges::any_of(*layers, [&](const json& one) { return one == layer; });
}

std::pair<std::size_t, double> AdapterSettings::scaling_of(std::string_view path) const {
  const auto find = [&](const auto& patterns, auto value) {
    const auto matches = [&](const auto& entry) { return matches_module(entry.first, path, ""); };
    const auto found = std::ranges::find_if(patterns, matches);
    return found == patterns.end() ? value : found->second;
  };
  const std::size_t rank = find(rank_pattern_, r_);
  const double divisor = static_cast<double>(rank);
  return {rank, static_cast<double>(find(alpha_pattern_, lora_alpha_)) /
                    (use_rslora_ ? std::sqrt(divisor) : divisor)};
}

std::vector<std::size_t> AdapterSettings::tokens_of(std::string_view path) const {
  constexpr const char* kKey = "trainable_token_indices";
  const auto found = tree_.root.find(kKey);
  std::vector<std::size_t> tokens;
  if (found == tree_.root.end()) return tokens;
  const json* list = &*found;
  for (auto module = found->begin(); found->is_object() && module != found->end(); ++module) {
    if (is_or_ends_in(path, module.key())) list = &*module;
  }
  for (const json& token : *list) {
    const auto id = whole_number(token);
    if (!id) fail(where_, kKey, " has ", shown(token), "; expected an id");
    tokens.push_back(*id);
  }
  return tokens;
}

bool matches_pattern(std::string_view pattern, std::string_view name, std::string_view where) {
  return PatternMatcher(pattern, name, where).matches();
}

bool matches_module(std::string_view pattern, std::string_view name, std::string_view where) {
  return matches_pattern(concat("(.*\\.)?(", pattern, ")$"), name, where);
}

}  // namespace gpt2
