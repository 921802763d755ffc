#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "base/fail.h"
#include "base/json.h"
#include "gpt2/config.h"

namespace gpt2 {

/// The keys of a config file, with messages that name key, found and expected. Refers to the
/// object.
class ConfigFields {
 public:
  static constexpr std::size_t kMaxFileBytes = 16 << 20;

  /// Throws Error(invalid_file), as all of these do, unless it is an object.
  ConfigFields(const nlohmann::json& object, std::string_view where)
      : object_(object), where_(where) {
    if (!object.is_object()) gpt2::fail(where, "not a JSON object");
  }

  [[noreturn]] void fail(const std::string& message,
                         ErrorCode code = ErrorCode::invalid_file) const {
    gpt2::fail(where_, message, code);
  }

  [[noreturn]] void expected(const char* key, const nlohmann::json& found,
                             const std::string& what) const {
    fail(std::string(key) + " is " + shown(found) + "; expected " + what);
  }

  /// nullptr where the key is absent or null.
  [[nodiscard]] const nlohmann::json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  /// These change nothing where the key is absent, and refuse null.
  void read(const char* key, std::size_t& size) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!found->is_number_unsigned()) expected(key, *found, "a whole number");
    size = found->get<std::size_t>();
  }

  void read(const char* key, bool& value) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (!found->is_boolean()) expected(key, *found, "true or false");
    value = found->get<bool>();
  }

  void read(const char* key, float& value, float high = std::numeric_limits<float>::max()) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    const double number = found->is_number() ? found->get<double>() : -1.0;
    if (!(number >= 0.0 && number <= static_cast<double>(high))) {
      expected(key, *found, "a number from 0 to " + shown(high));
    }
    value = static_cast<float>(number);
  }

 private:
  const nlohmann::json& object_;
  std::string_view where_;
};

/// What Config::parse reads, all of it.
[[nodiscard]] nlohmann::ordered_json to_json(const Config& config);

}  // namespace gpt2
