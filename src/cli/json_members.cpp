#include "cli/json_members.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/nearest.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {

using nlohmann::json;

namespace {

constexpr std::string_view kLine = "the line";  // its name in messages

}  // namespace

void parse_object(json& object, const std::string& line) {
  if (line.find_first_not_of(" \t\r") == line.npos) {
    cli::refuse("expected a JSON object, found an empty line");
  }
  object = json::parse(line, nullptr, false);
  // The parser of generation configs refuses values that are not objects, and also two things that
  // the JSON library accepts: keys that appear twice, and nesting that is too deep for the
  // library's recursive functions. The line is wrapped in another object so that this parser does
  // not check its members as options.
  static_cast<void>(
      GenerationConfig::parse(object.is_object() ? "{\"\":" + line + "}" : line, kLine));
}

std::string about_line(std::size_t number, std::string message) {
  if (message.starts_with(std::string(kLine) + ": ")) message.erase(0, kLine.size() + 2);
  return format("line %zu: ", number) + message;
}

const json* Members::find(const std::string& name) {
  known_.insert(name);
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const json& Members::need(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) cli::refuse("expected \"" + name + "\", found no such key");
  return *value;
}

void Members::refuse(const std::string& name, const std::string& expected) const {
  const std::string found = object_.at(name).dump(-1, ' ', true).substr(0, 60);
  cli::refuse(name + ": expected " + expected + ", found " + found);
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
  const bool is_count = value->is_number_unsigned() && value->get<std::uint64_t>() >= min &&
                        value->get<std::uint64_t>() <= max;
  if (!is_count) refuse(name, format("a whole number from %zu to %zu", min, max));
  return value->get<std::size_t>();
}

std::optional<float> Members::number(const std::string& name) {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(name, "a number");
  return static_cast<float>(value->get<double>());
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
    cli::refuse("unknown key '" + name + "'" +
                (meant.empty() ? ": remove it" : " (did you mean '" + meant + "'?)"));
  }
}

}  // namespace gpt2::cli
