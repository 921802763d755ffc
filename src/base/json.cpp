#include "base/json.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "base/mapped_file.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Stands between the library's parser, which keeps no call stack, and a tree: counts, and turns
// what the library has to say into an Error.
class Guard final : public nlohmann::json_sax<json> {
 public:
  Guard(std::string_view text, std::string_view where, JsonTree& tree, JsonLimits limits)
      : text_(text), where_(where), tree_(tree), limits_(limits) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none

  bool start_object(std::size_t) override { return begin(json::value_t::object); }
  bool start_array(std::size_t) override { return begin(json::value_t::array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    tree_.key(name);
    return true;
  }

  // `read` counts the bytes up to and including the offending one.
  bool parse_error(std::size_t read, const std::string&, const json::exception& error) override {
    const std::string_view before = text_.substr(0, read == 0 ? 0 : read - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    fail(where_, "invalid JSON at line ", line, ", column ", column, reason_in(error.what()));
  }

 private:
  template <class T>
  bool scalar(T&& value) {
    count_value();
    tree_.scalar(json(std::forward<T>(value)));
    return true;
  }

  bool begin(json::value_t kind) {
    count_value();
    if (++depth_ > limits_.max_depth) {
      fail(where_, "JSON nested deeper than ", limits_.max_depth, " levels");
    }
    tree_.begin(kind);
    return true;
  }

  bool end() {
    --depth_;
    tree_.end();
    return true;
  }

  void count_value() {
    if (++values_ > limits_.max_values) {
      fail(where_, "JSON of more than ", limits_.max_values, " values");
    }
  }

  // The library's own words, which quote the file, without "[json.exception.x] ... column 3: ".
  static std::string reason_in(std::string_view what) {
    constexpr std::size_t kLongest = 160;
    const std::string_view begin = what.substr(0, kLongest);
    const std::size_t end = begin.find(": ") != begin.npos ? begin.find(": ") : begin.find("] ");
    if (end != begin.npos) what.remove_prefix(end + 2);
    const std::string reason = quote(what, kLongest);
    return ": " + reason.substr(1, reason.size() - 2);
  }

  std::string_view text_;
  std::string_view where_;
  JsonTree& tree_;
  JsonLimits limits_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

void JsonTree::key(std::string& name) {
  auto& object = open_.back()->get_ref<json::object_t&>();
  const auto [place, is_new] = object.try_emplace(std::move(name), nullptr);
  if (!is_new) fail(where_, "key ", quote(place->first), " appears twice in one object");
  member_ = &place->second;
}

// Only the innermost open container grows, so the addresses in open_ hold.
json& JsonTree::add(json value) {
  if (open_.empty()) return root = std::move(value);
  if (open_.back()->is_object()) return *member_ = std::move(value);
  return open_.back()->emplace_back(std::move(value));
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const MappedFile file(path);
  const std::string_view text = text_of(file.bytes());
  if (text.size() > max_bytes) {
    fail(path.string(), text.size(), " bytes; expected at most ", max_bytes);
  }
  return std::string(text);
}

void JsonTree::read(std::string_view text, JsonLimits limits) {
  // The library would skip the mark, and take a NUL for the end.
  if (text.starts_with("\xef\xbb\xbf")) fail(where_, "begins with a byte order mark; remove it");
  if (text.find('\0') != text.npos) fail(where_, "holds a NUL byte, which no JSON does");
  Guard guard(text, where_, *this, limits);
  json::sax_parse(text.begin(), text.end(), &guard);
}

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return value.is_string() ? quote(value.get_ref<const std::string&>()) : value.dump();
}

json parse_json(std::string_view text, std::string_view where, JsonLimits limits) {
  JsonTree tree(where);
  tree.read(text, limits);
  return std::move(tree.root);
}

}  // namespace gpt2
