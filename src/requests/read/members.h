#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gpt2/error.h"

namespace gpt2 {

/// A mistake in a request, with what OpenAI's errors say beside the message.
class RequestError : public Error {
 public:
  /// `param`: the member with the mistake, as the request wrote it, or "". `kind`: OpenAI's code,
  /// or nullptr.
  RequestError(const std::string& message, std::string param, const char* kind = nullptr)
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

/// Throws RequestError about the member with this name: "name: <text>".
template <class... Parts>
[[noreturn]] void reject_member(const std::string& name, const Parts&... text) {
  throw RequestError(concat(name, ": ", text...), name);
}

/// Parses a text, which must be one JSON object. Throws Error if it is anything else (with a
/// special message for an empty text), if a key appears twice in it, or if it is nested too deeply.
/// Even then, sets `object` to what comes before the fault. `what` is the name of the text in
/// messages, such as "the line".
void parse_object(nlohmann::json& object, std::string_view text, std::string_view what);

/// Sets the members of `over` in `defaults`, by the names of the table. A member takes away those
/// that say the same in another way: a length takes away the other length, and a temperature takes
/// away "do_sample". A null is an absent member.
void merge_request(nlohmann::json& defaults, const nlohmann::json& over);

/// Returns the name in the table for a name that a request may have: "max_new_tokens" for
/// "max_tokens".
[[nodiscard]] std::string name_of_table(const std::string& name);

/// Reads the members of a request or of an object within one, and records which ones have been
/// read. A member of a request may have one of its other names, such as "max_tokens" for
/// "max_new_tokens"; readers know only the name of the table, and messages name the member as the
/// request wrote it.
class Members final : public JsonFields {
 public:
  /// `path` stands before the names of members in messages, such as "messages[0].". REQUIRES: the
  /// object outlives it.
  explicit Members(const nlohmann::json& object, std::string path = "")
      : JsonFields(object, std::move(path)) {}

  /// The members of a request, and an object with the defaults of what it does not set.
  [[nodiscard]] static Members of_request(const nlohmann::json& request,
                                          const nlohmann::json& defaults);

  /// Returns the member or, if the object does not have it, its default. Returns nullptr if there
  /// is neither; a null is absent. Throws RequestError if the object has it by two of its names.
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const override;

  /// Whether the object itself has the member, and it is not null. Throws what find() throws.
  [[nodiscard]] bool has(std::string_view name) const;

  /// Returns the member. Throws RequestError if it is absent or null.
  [[nodiscard]] const nlohmann::json& need(std::string_view name) const;

  /// Returns the name of a member in messages: after the path, as the object has it.
  [[nodiscard]] std::string name(std::string_view name) const;

  /// Throws RequestError: "name: <text>".
  template <class... Parts>
  [[noreturn]] void reject(std::string_view member, const Parts&... text) const {
    reject_member(name(member), text...);
  }

  /// Throws RequestError: "name: expected <expected>, found <value>".
  [[noreturn]] void refuse(std::string_view name, std::string_view expected) const override;

  /// Return the member, or nothing if it is absent. Throw RequestError for a value of another type.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
    return string(name, "a text");
  }
  [[nodiscard]] std::optional<std::size_t> count(std::string_view name, std::size_t min,
                                                 std::size_t max) const;

  /// Returns the index of the word that the member is, or 0, that of the default, if it is absent.
  /// Throws RequestError for any other value.
  [[nodiscard]] std::size_t word(std::string_view name,
                                 std::initializer_list<std::string_view> words) const;

  /// Accepts these members, whatever their values are.
  void ignore(std::initializer_list<const char*> names) {
    known_.insert(names.begin(), names.end());
  }

  /// Throws RequestError for the first member that is not null and has not been read.
  void refuse_others() const;

 private:
  // Returns the name by which the object has the member. Throws RequestError if there are two.
  [[nodiscard]] std::optional<std::string> written(std::string_view name) const;

  JsonDocument<nlohmann::json> defaults_;  // without what the object replaces
  mutable std::set<std::string> known_;    // the members that have been read
};

}  // namespace gpt2
