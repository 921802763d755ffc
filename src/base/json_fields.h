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

/// Reads the members of a JSON object and throws Error(invalid_file), which names the member, for
/// one that is not as expected. Refers to the object, which must outlive it.
class JsonFields {
 public:
  /// How read() treats a member that is null.
  enum class Null : std::uint8_t { absent, refused };

  /// `where` names the object in messages ("file: key"). Throws unless it is an object.
  JsonFields(const nlohmann::json& object, std::string where, Null null = Null::absent);

  /// The member; nullptr if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  /// These leave `value` as it is if the member is absent, and throw for another type or range.
  void read(std::string_view key, bool& value) const;
  void read(std::string_view key, std::size_t& value, std::size_t least = 0,
            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void read(std::string_view key, float& value,
            float most = std::numeric_limits<float>::max()) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// These throw for an absent member as well.
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
