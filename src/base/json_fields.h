#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/error.h"

namespace gpt2 {

/// The members of a JSON object, looked at with the words to complain about them. A member that is
/// null is as good as absent. Refers to the object. Everything throws Error(invalid_file).
class JsonFields {
 public:
  /// `where` names the object ("file: key"); it must be one.
  JsonFields(const nlohmann::json& object, std::string where);

  /// Null where there is no such member.
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  /// A value of another type is refused.
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// So is none.
  [[nodiscard]] std::string required_string(std::string_view key) const;
  [[nodiscard]] const nlohmann::json& required_list(std::string_view key) const;
  [[nodiscard]] JsonFields required_object(std::string_view key) const;

  /// "where: key is <found>, expected <expected>".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           ErrorCode code = ErrorCode::invalid_file) const;

  [[nodiscard]] const nlohmann::json& object() const noexcept { return object_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace gpt2
