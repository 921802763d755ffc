#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gpt2 {

/// The JSON of answers, whose members keep their order.
using Json = nlohmann::ordered_json;

/// Returns a JSON value as text on one line, with U+FFFD in place of bytes that are not UTF-8.
[[nodiscard]] std::string json_text(const Json& value);

/// Returns the double that JSON writes with as few digits as the float needs.
[[nodiscard]] double short_number(float value);

}  // namespace gpt2
