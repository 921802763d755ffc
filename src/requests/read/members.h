#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gpt2/error.h"

namespace gpt2 {

/// A mistake in a request, with what OpenAI's errors say beside the message.
class RequestError : public Error {
 public:
  /// `param`: the member with the mistake, or "". `kind`: OpenAI's code.
  RequestError(const std::string& message, std::string param, const char* kind)
      : Error(ErrorCode::invalid_argument, message), param_(std::move(param)), kind_(kind) {}

  [[nodiscard]] const std::string& param() const noexcept { return param_; }
  [[nodiscard]] const char* kind() const noexcept { return kind_; }

  static constexpr const char* kMissing = "missing_required_parameter";
  static constexpr const char* kUnknown = "unknown_parameter";
  static constexpr const char* kTooLong = "context_length_exceeded";

 private:
  std::string param_;
  const char* kind_;
};

/// Parses a text, which must be one JSON object. Throws Error if it is anything else (with a
/// special message for an empty text), if a key appears twice in it, or if it is nested too deeply.
/// Even then, sets `object` to what comes before the fault. `what` is the name of the text in
/// messages, such as "the line".
void parse_object(nlohmann::json& object, std::string_view text, std::string_view what);

/// Reads the members of a JSON object and records which ones have been read.
class Members {
 public:
  /// `path` stands before the names of members in messages, such as "messages[0].". REQUIRES: the
  /// object outlives it.
  explicit Members(const nlohmann::json& object, std::string path = "")
      : object_(object), path_(std::move(path)) {}

  /// Returns the member, or nullptr if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(const std::string& name);

  /// Returns the member. Throws RequestError if it is absent or null.
  [[nodiscard]] const nlohmann::json& need(const std::string& name);

  /// Throws Error: "name: expected <expected>, found <value>".
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

  /// Return the member, or nothing if it is absent. Throw Error for a value of another type.
  [[nodiscard]] std::optional<std::string> text(const std::string& name);
  [[nodiscard]] std::optional<std::size_t> count(const std::string& name, std::size_t min,
                                                 std::size_t max);
  [[nodiscard]] std::optional<bool> flag(const std::string& name);

  /// Returns the index of the word that the member is, or 0, that of the default, if it is absent.
  /// Throws Error for any other value.
  [[nodiscard]] std::size_t word(const std::string& name,
                                 std::initializer_list<std::string_view> words);

  /// Accepts these members, whatever their values are.
  void ignore(std::initializer_list<const char*> names) {
    known_.insert(names.begin(), names.end());
  }

  /// Throws Error if the object has both of these members, which are two names for one setting.
  void refuse_both(const std::string& name, const std::string& other);

  /// Throws RequestError for the first member that is not null and has not been read.
  void refuse_others() const;

 private:
  const nlohmann::json& object_;
  const std::string path_;
  std::set<std::string> known_;
};

}  // namespace gpt2
