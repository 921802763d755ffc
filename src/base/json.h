#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_document.h"

namespace gpt2 {

struct JsonLimits {
  std::size_t max_depth = 128;         ///< of nested arrays and objects
  std::size_t max_values = 4'000'000;  ///< of every kind together; one takes up to 100 bytes
};

/// Strict JSON (RFC 8259): valid UTF-8, no comments, nothing after the value, no name twice in one
/// object. `where` (the file) begins every message. Throws Error(invalid_file) with the line, if the
/// text has several, and the column, and no exception of the JSON library. Does not recurse; uses
/// memory in proportion to the text.
[[nodiscard]] JsonDocument<nlohmann::json> parse_json(std::string_view text, std::string_view where,
                                                      JsonLimits limits = {});

/// Whether the value is a string with this text. (The JSON library's operator == copies the text,
/// and ends the process if there is no memory for the copy, because it is noexcept.)
[[nodiscard]] bool is_text(const nlohmann::json& value, std::string_view text) noexcept;

/// Returns the value as error messages show it: shortened, on one line.
[[nodiscard]] std::string shown(const nlohmann::json& value);

/// Receives a JSON text event by event and builds its tree. A derived class that wants to store the
/// bulk of a text in its own way overrides begin, key, scalar and end, which may throw, and calls
/// these for the rest.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `where` must outlive it.
  explicit JsonTree(std::string_view where) : where_(where) {}
  ~JsonTree() override { clear_tree(root); }

  /// parse_json; the tree is `root`.
  void read(std::string_view text, JsonLimits limits = {});

  virtual void begin(nlohmann::json::value_t kind) { open_.push_back(&add(kind)); }
  bool key(std::string& name) override;  ///< throws Error(invalid_file) for a repeated one
  virtual void scalar(nlohmann::json&& value) { add(std::move(value)); }
  virtual void end() { open_.pop_back(); }

  // The callbacks of the library's parser, which does not recurse.
  bool null() final { return count_scalar(nullptr); }
  bool boolean(bool value) final { return count_scalar(value); }
  bool number_integer(number_integer_t value) final { return count_scalar(value); }
  bool number_unsigned(number_unsigned_t value) final { return count_scalar(value); }
  bool number_float(number_float_t value, const string_t&) final { return count_scalar(value); }
  bool string(string_t& value) final { return count_scalar(std::move(value)); }
  bool binary(binary_t&) final { return false; }  // JSON has none
  bool start_object(std::size_t) final { return count_begin(nlohmann::json::value_t::object); }
  bool start_array(std::size_t) final { return count_begin(nlohmann::json::value_t::array); }
  bool end_object() final { return count_end(); }
  bool end_array() final { return count_end(); }
  bool parse_error(std::size_t read, const std::string&, const nlohmann::json::exception&) final;

  nlohmann::json root;

 protected:
  const std::string_view where_;

 private:
  nlohmann::json& add(nlohmann::json value);

  void count_value();
  bool count_scalar(nlohmann::json&& value);
  bool count_begin(nlohmann::json::value_t kind);
  bool count_end();

  std::string_view text_;
  JsonLimits limits_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::vector<nlohmann::json*> open_;  // outermost first
  nlohmann::json* member_ = nullptr;   // whose key came last
};

}  // namespace gpt2
