#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/error.h"

namespace gpt2 {

/// How a message shows a value: short, on one line.
[[nodiscard]] std::string show(const nlohmann::json& value);

/// The members of a JSON object, looked at with the words to complain about them. A member that is
/// null is as good as absent. Refers to the object.
class JsonFields {
 public:
  /// `where` names the object ("file: key"). Throws Error(invalid_file) unless it is an object.
  JsonFields(const nlohmann::json& object, std::string where);

  /// Null where there is no such member.
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  /// These throw Error(invalid_file) for a value of another type.
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// "where: key is <found>, expected <expected>".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           ErrorCode code = ErrorCode::invalid_file) const;

  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace gpt2
