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

/// Reads the members of a JSON object. If a member is not as expected, throws Error(invalid_file)
/// with a message that names the member. Holds a reference to the object, which must outlive it.
class JsonFields {
 public:
  /// Whether read() treats a member that is null as absent, or throws.
  enum class Null : std::uint8_t { absent, refused };

  /// `where` names the object in messages ("file: key"). Throws Error(invalid_file) unless `object`
  /// is a JSON object.
  JsonFields(const nlohmann::json& object, std::string where, Null null = Null::absent);

  /// Returns the member, or nullptr if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  /// If the member is absent, read() leaves `value` unchanged, and string() returns nothing. Both
  /// throw if the member has another type or is out of range.
  void read(std::string_view key, bool& value) const;
  void read(std::string_view key, std::size_t& value, std::size_t least = 0,
            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void read(std::string_view key, float& value,
            float most = std::numeric_limits<float>::max()) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// These also throw if the member is absent or null.
  [[nodiscard]] std::string required_string(std::string_view key) const;
  [[nodiscard]] const nlohmann::json& required_list(std::string_view key) const;
  [[nodiscard]] JsonFields required_object(std::string_view key) const;

  /// Throws Error(code) with the message "where: key is <found>; expected <expected>".
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
