#include "base/json_fields.h"

#include <utility>

#include "base/json.h"

namespace gpt2 {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string where, Null null)
    : object_(object), where_(std::move(where)), null_(null) {
  if (object.is_object()) return;
  throw Error(ErrorCode::invalid_file, where_ + " is " + shown(object) + "; expected an object");
}

const json* JsonFields::find(std::string_view key) const {
  const auto member = object_.find(key);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const json* JsonFields::to_read(std::string_view key) const {
  const auto member = object_.find(key);
  return member != object_.end() && null_ == Null::refused ? &*member : find(key);
}

void JsonFields::read(std::string_view key, bool& value) const {
  const json* const found = to_read(key);
  if (!found) return;
  if (!found->is_boolean()) refuse(key, "true or false");
  value = found->get<bool>();
}

void JsonFields::read(std::string_view key, std::size_t& value, std::size_t least,
                      std::size_t most) const {
  const json* const found = to_read(key);
  if (!found) return;
  if (found->is_number_unsigned()) {
    value = found->get<std::size_t>();
    if (value >= least && value <= most) return;
  }
  refuse(key, concat("a whole number from ", least, " to ", most));
}

void JsonFields::read(std::string_view key, float& value, float most) const {
  const json* const found = to_read(key);
  if (!found) return;
  const double number = found->is_number() ? found->get<double>() : -1.0;
  if (!(number >= 0.0 && number <= static_cast<double>(most))) {
    refuse(key, concat("a number from 0 to ", most));
  }
  value = static_cast<float>(number);
}

std::optional<std::string> JsonFields::string(std::string_view key) const {
  return find(key) ? std::optional(required_string(key)) : std::nullopt;
}

std::string JsonFields::required_string(std::string_view key) const {
  const json* const found = find(key);
  if (!found || !found->is_string()) refuse(key, "a string");
  return found->get<std::string>();
}

const json& JsonFields::required_list(std::string_view key) const {
  const json* const found = find(key);
  if (!found || !found->is_array()) refuse(key, "an array");
  return *found;
}

JsonFields JsonFields::required_object(std::string_view key) const {
  const json* const found = find(key);
  if (!found) refuse(key, "an object");
  return {*found, concat(where_, ": ", key)};
}

void JsonFields::refuse(std::string_view key, std::string_view expected, ErrorCode code) const {
  const auto found = object_.find(key);
  fail(code, where_, key, " is ", found == object_.end() ? "missing" : shown(*found), "; expected ",
       expected);
}

}  // namespace gpt2
