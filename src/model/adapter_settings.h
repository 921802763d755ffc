#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpt2 {

/// What the product of a pair of matrices counts, and their rank.
struct Scaling {
  std::size_t r;
  double factor;
};

/// The members of PEFT's adapter_config.json that matter for a merge, with PEFT's names.
struct AdapterSettings {
  std::size_t r = 8;
  float lora_alpha = 8.0f;
  bool use_rslora = false;
  bool use_dora = false;
  bool ensure_weight_tying = false;
  // In the order of the file, because the first pattern that matches counts.
  std::vector<std::pair<std::string, std::size_t>> rank_pattern = {};
  std::vector<std::pair<std::string, float>> alpha_pattern = {};

  /// Throws Error, whose message begins with `where`: unsupported for another method than LoRA, and
  /// for settings that change more than weights or the base; invalid_file for unusable values.
  [[nodiscard]] static AdapterSettings parse(const std::string& text, const std::string& where);

  /// `path` is the module's name in the model that was trained: "transformer.h.0.attn.c_attn".
  [[nodiscard]] Scaling scaling_of(std::string_view path) const;
};

/// Returns whether Python's re.match(r"(.*\.)?(PATTERN)$", name) finds a match, as PEFT decides
/// which modules a key of rank_pattern means. Throws Error(unsupported), whose message begins with
/// `where`, for patterns with other than literal characters, . \. \d * + | and ^ at a beginning.
[[nodiscard]] bool matches_module(std::string_view pattern, std::string_view name,
                                  std::string_view where);

}  // namespace gpt2
