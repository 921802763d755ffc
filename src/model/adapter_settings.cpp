#include "model/adapter_settings.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>

#include "base/fail.h"
#include "base/json.h"

namespace gpt2 {
namespace {

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
  using enum ErrorCode;
  if (config.required_string("peft_type") != "LORA") {
    config.refuse("peft_type", "'LORA'", unsupported);
  }
  for (const char* key : {"layer_replication", "alora_invocation_tokens", "target_parameters",
                          "use_qalora", "use_bdlora", "arrow_config"}) {
    const nlohmann::json* const value = config.find(key);
    const bool is_off = value == nullptr || (value->is_structured() && value->empty()) ||
                        (value->is_boolean() && !value->get<bool>());
    if (!is_off) config.refuse(key, "an adapter without it", unsupported);
  }
  const nlohmann::json* const init = config.find("init_lora_weights");
  if (init == nullptr || init->is_boolean() || is_text(*init, "gaussian") ||
      is_text(*init, "eva") || is_text(*init, "orthogonal")) {
    return;
  }
  config.refuse("init_lora_weights",
                "one that leaves the base as it is: convert the adapter with PEFT's "
                "path_initial_model_for_weight_conversion",
                unsupported);
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

}  // namespace

AdapterSettings AdapterSettings::parse(const std::string& text, const std::string& where) {
  constexpr std::size_t kMaxRankOfPair = 1'000'000;  // far above the rank of any matrix of a GPT-2
  OrderedTree tree(where);
  tree.read(text);
  const JsonFields config(tree.root, where);
  refuse_other_methods(config);
  AdapterSettings settings;
  config.read("r", settings.r, 1, kMaxRankOfPair);
  config.read("lora_alpha", settings.lora_alpha);
  config.read("use_rslora", settings.use_rslora);
  config.read("use_dora", settings.use_dora);
  config.read("ensure_weight_tying", settings.ensure_weight_tying);
  read_patterns(tree, config, "rank_pattern", settings.rank_pattern, std::size_t{1}, kMaxRankOfPair);
  read_patterns(tree, config, "alpha_pattern", settings.alpha_pattern);
  return settings;
}

Scaling AdapterSettings::scaling_of(std::string_view path) const {
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

bool matches_module(std::string_view pattern, std::string_view name, std::string_view where) {
  using Places = std::bitset<256>;  // bit i is the place before the character i of the name
  const auto refuse = [&] {
    fail(ErrorCode::unsupported, where, "the pattern ", quote(pattern),
         " is not supported; expected a name, with . \\. \\d * + | and ^ at the beginning");
  };
  constexpr std::string_view kSpecial = "\\*+?()[]{}^$|";
  if (pattern.size() >= Places().size() || name.size() >= Places().size()) refuse();
  Places begins = 1;
  for (std::size_t i = 0; i < name.size(); ++i) begins[i + 1] = name[i] == '.';
  // The places that each way to match the pattern so far has reached, so the time is polynomial.
  Places reached = begins;
  bool found = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '|') {
      found = found || reached[name.size()];
      reached = begins;
      continue;
    }
    if (pattern[i] == '^' && (i == 0 || pattern[i - 1] == '|')) {
      reached = 1;
      continue;
    }
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
    Places ends;
    if (next == '*') ends = reached;
    for (std::size_t at = 0; at < name.size(); ++at) {
      const bool is_here = reached[at] || (repeats && ends[at]);
      if (is_here && matches(name[at])) ends[at + 1] = true;
    }
    reached = ends;
  }
  return found || reached[name.size()];
}

}  // namespace gpt2
