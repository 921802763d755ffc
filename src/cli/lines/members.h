#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

namespace gpt2::cli {

/// Parses a line of the input, which must be one JSON object. Throws Error if it is anything else
/// (with a special message for an empty line), if a key appears twice in it, or if it is nested too
/// deeply. Even then, sets `object` to what comes before the fault.
void parse_object(nlohmann::json& object, const std::string& line);

/// Returns "line 3: ...": an error message about a line, such as one from parse_object(), with the
/// number of the line, which counts from 1.
[[nodiscard]] std::string about_line(std::size_t number, std::string message);

/// Reads the members of a JSON object and records which ones have been read.
class Members {
 public:
  /// REQUIRES: the object outlives it.
  explicit Members(const nlohmann::json& object) : object_(object) {}

  /// Returns the member, or nullptr if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(const std::string& name);

  /// Returns the member. Throws Error if it is absent or null.
  [[nodiscard]] const nlohmann::json& need(const std::string& name);

  /// Throws Error: "name: expected <expected>, found <value>".
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

  /// Return the member, or nothing if it is absent. Throw Error for a value of another type.
  [[nodiscard]] std::optional<std::string> text(const std::string& name);
  [[nodiscard]] std::optional<std::size_t> count(const std::string& name, std::size_t min,
                                                 std::size_t max);
  [[nodiscard]] std::optional<bool> flag(const std::string& name);

  /// Accepts these members, whatever their values are.
  void ignore(std::initializer_list<const char*> names) {
    known_.insert(names.begin(), names.end());
  }

  /// Throws Error for the first member that has not been read.
  void refuse_others() const;

 private:
  const nlohmann::json& object_;
  std::set<std::string> known_;
};

}  // namespace gpt2::cli
