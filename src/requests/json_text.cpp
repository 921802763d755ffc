#include "requests/json_text.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace gpt2 {

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// If a float is converted to a double, JSON writes 17 digits, of which the last 8 are meaningless.
double short_number(float value) {
  char digits[32];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double number = value;
  static_cast<void>(read_number({digits, end}, number));
  return number;
}

}  // namespace gpt2
