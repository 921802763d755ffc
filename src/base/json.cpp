#include "base/json.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "base/system/threads.h"
#include "base/utf8.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Returns the reason in an error message of the JSON library, without the part "[json.exception.x]
// ... column 3: " before it. The reason quotes the file, so this returns it in a form that is safe
// to print.
std::string reason_in(std::string_view what) {
  constexpr std::size_t kLongest = 160;
  const std::string_view begin = what.substr(0, kLongest);
  const std::size_t end = begin.find(": ") != begin.npos ? begin.find(": ") : begin.find("] ");
  if (end != begin.npos) what.remove_prefix(end + 2);
  const std::string reason = quote(what, kLongest);
  return ": " + reason.substr(1, reason.size() - 2);
}

}  // namespace

bool JsonTree::key(std::string& name) {
  auto& object = open_.back()->get_ref<json::object_t&>();
  const auto [place, is_new] = object.try_emplace(std::move(name), nullptr);
  if (!is_new) fail(where_, "key ", quote(place->first), " appears twice in one object");
  member_ = &place->second;
  return true;
}

// Only the innermost open container grows, so the addresses in open_ stay valid.
json& JsonTree::add(json value) {
  if (open_.empty()) return root = std::move(value);
  if (open_.back()->is_object()) return *member_ = std::move(value);
  return open_.back()->emplace_back(std::move(value));
}

void JsonTree::read(std::string_view text, JsonLimits limits) {
  const DefaultFloatState state;  // the thread's rounding mode affects the conversion of numbers
  // The JSON library would skip the byte order mark, and treat a NUL as the end of the text.
  if (text.starts_with("\xef\xbb\xbf")) fail(where_, "begins with a byte order mark; remove it");
  if (text.find('\0') != text.npos) fail(where_, "contains a NUL byte, which JSON does not allow");
  text_ = text;
  limits_ = limits;
  json::sax_parse(text.begin(), text.end(), this);
}

void JsonTree::count_value() {
  if (++values_ > limits_.max_values) {
    fail(where_, "JSON of more than ", limits_.max_values, " values");
  }
}

bool JsonTree::count_scalar(json&& value) {
  count_value();
  scalar(std::move(value));
  return true;
}

bool JsonTree::count_begin(json::value_t kind) {
  count_value();
  if (++depth_ > limits_.max_depth) {
    fail(where_, "JSON nested deeper than ", limits_.max_depth, " levels");
  }
  begin(kind);
  return true;
}

bool JsonTree::count_end() {
  --depth_;
  end();
  return true;
}

// `read` counts the bytes up to and including the offending one.
bool JsonTree::parse_error(std::size_t read, const std::string&, const json::exception& error) {
  const std::string_view before = text_.substr(0, read == 0 ? 0 : read - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  // A column is a character, as in an editor.
  const auto column = 1 + count_characters(before.substr(before.rfind('\n') + 1));
  // A text without a newline may be one line of a longer file, so "line 1" could be misleading.
  const bool is_one_line = text_.find('\n') == text_.npos;
  fail(where_, "invalid JSON at ", is_one_line ? "" : concat("line ", line, ", "), "column ",
       column, reason_in(error.what()));
}

bool is_text(const json& value, std::string_view text) noexcept {
  const auto* const string = value.get_ptr<const std::string*>();
  return string != nullptr && *string == text;
}

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return value.is_string() ? quote(value.get_ref<const std::string&>()) : value.dump();
}

JsonDocument<json> parse_json(std::string_view text, std::string_view where, JsonLimits limits) {
  JsonTree tree(where);
  tree.read(text, limits);
  return JsonDocument<json>(std::move(tree.root));
}

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

std::optional<bool> JsonFields::flag(std::string_view key) const {
  const json* const found = to_read(key);
  if (!found) return std::nullopt;
  if (!found->is_boolean()) refuse(key, "true or false");
  return found->get<bool>();
}

void JsonFields::read(std::string_view key, std::size_t& value, std::size_t least,
                      std::size_t most) const {
  const json* const found = to_read(key);
  if (!found) return;
  const auto number = whole_number(*found, least, most);
  if (!number) refuse(key, concat("a whole number from ", least, " to ", most));
  value = *number;
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

std::optional<std::string> JsonFields::string(std::string_view key, const char* expected) const {
  const json* const found = find(key);
  if (!found) return std::nullopt;
  if (!found->is_string()) refuse(key, expected);
  return found->get<std::string>();
}

std::string JsonFields::required_string(std::string_view key) const {
  const auto found = string(key);
  if (!found) refuse(key, "a string");
  return *found;
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
