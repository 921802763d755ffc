#include "base/json_fields.h"

#include <utility>

#include "base/fail.h"
#include "base/json.h"

namespace gpt2 {

JsonFields::JsonFields(const nlohmann::json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw Error(ErrorCode::invalid_file, where_ + " is " + shown(object) + ", expected an object");
  }
}

const nlohmann::json* JsonFields::find(std::string_view key) const {
  const auto member = object_.find(key);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

bool JsonFields::boolean(std::string_view key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::string(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string");
  return value->get<std::string>();
}

std::string JsonFields::required_string(std::string_view key) const {
  const auto value = string(key);
  if (!value) refuse(key, "a string");
  return *value;
}

const nlohmann::json& JsonFields::required_list(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (!value || !value->is_array()) refuse(key, "an array");
  return *value;
}

JsonFields JsonFields::required_object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (!value) refuse(key, "an object");
  return {*value, where_ + ": " + std::string(key)};
}

void JsonFields::refuse(std::string_view key, std::string_view expected, ErrorCode code) const {
  const nlohmann::json* value = find(key);
  fail(where_,
       std::string(key) + " is " + (value ? shown(*value) : "null") + ", expected " +
           std::string(expected),
       code);
}

}  // namespace gpt2
