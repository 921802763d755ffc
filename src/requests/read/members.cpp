#include "requests/read/members.h"

#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "base/utf8.h"
#include "generate/options/option_codec.h"

namespace gpt2 {

using nlohmann::json;

void parse_object(json& object, std::string_view text, std::string_view what) {
  if (text.find_first_not_of(" \t\r") == text.npos) {
    reject("expected a JSON object, found an empty ", what.substr(what.rfind(' ') + 1));
  }
  JsonTree tree(what);
  try {
    tree.read(text);
  } catch (const Error&) {
    object = std::move(tree.root);
    throw;
  }
  object = std::move(tree.root);
  if (!object.is_object()) reject(what, " is ", shown(object), "; expected an object");
}

const json* Members::find(const std::string& name) {
  known_.insert(name);
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const json& Members::need(const std::string& name) {
  const json* const value = find(name);
  if (value != nullptr) return *value;
  const std::string path = path_ + name;
  const char* const found = object_.contains(name) ? "null" : "no such key";
  throw RequestError(concat("expected \"", path, "\", found ", found), path,
                     RequestError::kMissing);
}

void Members::refuse(const std::string& name, const std::string& expected) const {
  reject(path_, name, ": expected ", expected, ", found ",
         object_.at(name).dump(-1, ' ', true).substr(0, 60));
}

std::optional<std::string> Members::text(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(name, "a text");
  return value->get<std::string>();
}

std::optional<std::size_t> Members::count(const std::string& name, std::size_t min,
                                          std::size_t max) {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const OptionRange range = {static_cast<double>(min), static_cast<double>(max)};
  std::size_t count = 0;
  if (!OptionCodec<std::size_t>::read(*value, range, count)) refuse(name, range.text(true));
  return count;
}

std::optional<bool> Members::flag(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

std::size_t Members::word(const std::string& name, std::initializer_list<std::string_view> words) {
  const std::optional<std::string> given = text(name);
  if (!given) return 0;
  std::string expected;
  for (const std::string_view& word : words) {
    if (word == *given) return static_cast<std::size_t>(&word - words.begin());
    expected += concat(expected.empty() ? "" : " or ", word);
  }
  refuse(name, expected);
}

void Members::refuse_both(const std::string& name, const std::string& other) {
  if (find(name) == nullptr || find(other) == nullptr) return;
  reject(path_, name, ": \"", other, "\" says the same: remove one of them");
}

void Members::refuse_others() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name) || value.is_null()) continue;
    const std::string path = path_ + name;
    throw RequestError(concat("unknown key ", quote(path), ": remove it"),
                       path.substr(0, place_to_cut(path, 200)), RequestError::kUnknown);
  }
}

}  // namespace gpt2
