#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "gpt2/generate.h"

namespace gpt2::cli {

/// Reads the members of a JSON object and remembers which ones.
class Members {
 public:
  /// REQUIRES: the object outlives it.
  explicit Members(const nlohmann::json& object) : object_(object) {}

  /// Returns the member, or nullptr if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(const std::string& name);

  /// Throws Error: "name: expected <expected>, found <value>".
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

  /// Return the member, or nothing if it is absent. Throw Error for a value of another type.
  [[nodiscard]] std::optional<std::string> text(const std::string& name);
  [[nodiscard]] std::optional<std::size_t> count(const std::string& name, std::size_t min,
                                                 std::size_t max);
  [[nodiscard]] std::optional<float> number(const std::string& name);
  [[nodiscard]] std::optional<bool> flag(const std::string& name);

  /// Throws Error for the first member that was never asked for.
  void refuse_others() const;

 private:
  const nlohmann::json& object_;
  std::set<std::string> known_;
};

/// Changes `options` to what the members say, by the names of HuggingFace's generate() and OpenAI's
/// completions. `prompt_tokens` counts for max_length. Throws Error for a value of the wrong type
/// or, mostly, range; Scheduler::submit and its future find the others.
void read_options(Members& members, const nlohmann::json& object, std::size_t prompt_tokens,
                  GenerationOptions& options);

}  // namespace gpt2::cli
