#include "cli/lines/members.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/json.h"
#include "cli/options/nearest.h"
#include "generate/option_json.h"

namespace gpt2::cli {

using nlohmann::json;

namespace {

constexpr std::string_view kLine = "the line";  // its name in messages

}  // namespace

void parse_object(json& object, const std::string& line) {
  if (line.find_first_not_of(" \t\r") == line.npos) {
    reject("expected a JSON object, found an empty line");
  }
  JsonTree tree(kLine);
  try {
    tree.read(line);
  } catch (const Error&) {
    object = std::move(tree.root);
    throw;
  }
  object = std::move(tree.root);
  if (!object.is_object()) reject(kLine, " is ", shown(object), "; expected an object");
}

std::string about_line(std::size_t number, std::string message) {
  if (message.starts_with(concat(kLine, ": "))) message.erase(0, kLine.size() + 2);
  return concat("line ", number, ": ", message);
}

const json* Members::find(const std::string& name) {
  known_.insert(name);
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const json& Members::need(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) reject("expected \"", name, "\", found no such key");
  return *value;
}

void Members::refuse(const std::string& name, const std::string& expected) const {
  reject(name, ": expected ", expected, ", found ",
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
  if (!OptionJson<std::size_t>::read(*value, range, count)) refuse(name, range.text(true));
  return count;
}

std::optional<bool> Members::flag(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

void Members::refuse_others() const {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    const std::string meant = nearest(name, names);
    reject("unknown key '", name, "'",
           meant.empty() ? ": remove it" : " (did you mean '" + meant + "'?)");
  }
}

}  // namespace gpt2::cli
