#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/fail.h"

namespace gpt2 {

/// The members of a JSON object, looked at with the words to complain about them. Refers to the
/// object. Everything throws Error(invalid_file) unless it is told another code.
class JsonFields {
 public:
  /// What read() makes of a member that is null.
  enum class Null : std::uint8_t { absent, refused };

  /// `where` names the object ("file: key"); it must be one.
  JsonFields(const nlohmann::json& object, std::string where, Null null = Null::absent);

  /// nullptr where there is no such member, or null.
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  /// These change nothing where there is no such member, and refuse another type or range.
  void read(std::string_view key, bool& value) const;
  void read(std::string_view key, std::size_t& value, std::size_t least = 0,
            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void read(std::string_view key, float& value,
            float most = std::numeric_limits<float>::max()) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// These refuse an absent member too.
  [[nodiscard]] std::string required_string(std::string_view key) const;
  [[nodiscard]] const nlohmann::json& required_list(std::string_view key) const;
  [[nodiscard]] JsonFields required_object(std::string_view key) const;

  /// "where: key is <found>; expected <expected>".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           ErrorCode code = ErrorCode::invalid_file) const;

  [[nodiscard]] const nlohmann::json& object() const noexcept { return object_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  [[nodiscard]] const nlohmann::json* to_read(std::string_view key) const;

  const nlohmann::json& object_;
  std::string where_;
  Null null_;
};

}  // namespace gpt2
