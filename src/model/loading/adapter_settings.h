#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace gpt2 {

/// The members of PEFT's adapter_config.json that matter for a merge. A `path` is the name of a
/// module in the model that was trained: "transformer.h.0.attn.c_attn".
class AdapterSettings {
 public:
  /// Throws Error(unsupported) for another method than LoRA, and for settings that change more than
  /// weights or the base; invalid_file for an unusable text. `where` names it in messages, and must
  /// outlive this object.
  AdapterSettings(const std::string& text, std::string_view where);

  /// Returns whether the module's pair of matrices counts.
  [[nodiscard]] bool targets(std::string_view path) const;

  /// Returns the rank of the pair, and what the product counts.
  [[nodiscard]] std::pair<std::size_t, double> scaling_of(std::string_view path) const;

  /// Returns the tokens that have rows of their own for the module. Throws Error(invalid_file).
  [[nodiscard]] std::vector<std::size_t> tokens_of(std::string_view path) const;

  std::string task_type = {};
  bool use_dora = false;

 private:
  // Keeps the order of the members of each object in the root.
  struct Tree : JsonTree {
    using JsonTree::JsonTree;
    bool key(std::string& name) override;

    std::map<std::string, std::vector<std::string>> orders = {};
    std::string outer = {};
  };

  // Returns whether the member has the module: as a pattern of whole names, or as a list of names,
  // each of which also stands for longer names that end in it.
  [[nodiscard]] bool selects(const char* key, std::string_view path) const;

  Tree tree_;
  std::string_view where_;
  std::size_t r_ = 8;
  float lora_alpha_ = 8.0f;
  bool use_rslora_ = false;
  // In the order of the file, because the first pattern that matches counts.
  std::vector<std::pair<std::string, std::size_t>> rank_pattern_ = {};
  std::vector<std::pair<std::string, float>> alpha_pattern_ = {};
};

/// Returns whether Python's re.fullmatch(pattern, name) finds a match. Throws Error(unsupported),
/// whose message begins with `where`, for patterns with other than characters, . \. \d \w ^ $ |,
/// classes, groups, and * + ? behind a character or a class, or ? behind a group.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view name,
                                   std::string_view where);

/// Returns whether re.match(r"(.*\.)?(PATTERN)$", name) finds a match, as PEFT decides which
/// modules a key of rank_pattern means. Throws the errors of matches_pattern().
[[nodiscard]] bool matches_module(std::string_view pattern, std::string_view name,
                                  std::string_view where);

}  // namespace gpt2
