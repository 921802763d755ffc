#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"

namespace gpt2 {

/// Removes everything from the tree without allocating memory. (To destroy an array or object that
/// is not empty, the JSON library allocates memory, and it ends the process if there is none.) The
/// depth of the recursion is that of the tree, which JsonLimits bounds.
template <class Json>
void clear_tree(Json& tree) noexcept {
  if (!tree.is_structured()) return;
  for (Json& child : tree) clear_tree(child);
  tree.clear();
}

/// A JSON tree that can be destroyed when there is no memory left. Code that reads files and
/// requests must not hold or copy arrays and objects in any other way. In particular, it must not
/// construct them from nested braces, because these make temporary arrays.
template <class Json>
class JsonDocument {
 public:
  JsonDocument() = default;
  explicit JsonDocument(Json&& tree) noexcept : root(std::move(tree)) {}
  JsonDocument(JsonDocument&& other) noexcept : root(std::move(other.root)) {}
  JsonDocument& operator=(JsonDocument&&) = delete;
  ~JsonDocument() { clear_tree(root); }

  Json root;
};

struct JsonLimits {
  std::size_t max_depth = 128;         ///< max levels of nested arrays and objects
  std::size_t max_values = 4'000'000;  ///< max values of all kinds; each takes up to 100 bytes
};

/// Parses strict JSON (RFC 8259): the text must be valid UTF-8 without comments, nothing may follow
/// the value, and no object may have two members of the same name. Does not recurse. Uses memory in
/// proportion to the text.
///
/// Throws Error(invalid_file). The message begins with `where`, usually the name of the file, and
/// gives the column of a syntax error, in characters, and the line if the text has several. Never
/// throws an exception of the JSON library.
[[nodiscard]] JsonDocument<nlohmann::json> parse_json(std::string_view text, std::string_view where,
                                                      JsonLimits limits = {});

/// Returns whether the value is a string with this text. (The JSON library's operator== copies the
/// text. Because it is noexcept, it ends the process if there is no memory for the copy.)
[[nodiscard]] bool is_text(const nlohmann::json& value, std::string_view text) noexcept;

/// Returns the value in the form in which error messages show it: shortened and on one line.
[[nodiscard]] std::string shown(const nlohmann::json& value);

/// Returns accept(number) for the whole number that the value is, and false for any other value,
/// such as 1.0. The number has 64 bits, with a sign if it is negative.
template <class Accept>
bool read_whole_number(const nlohmann::json& value, const Accept& accept) {
  if (value.is_number_unsigned()) return accept(value.get<std::uint64_t>());
  return value.is_number_integer() && accept(value.get<std::int64_t>());
}

/// Returns the whole number that the value is, unless it is outside of least to most.
template <std::integral T = std::size_t>
[[nodiscard]] std::optional<T> whole_number(const nlohmann::json& value,
                                            T least = std::numeric_limits<T>::min(),
                                            T most = std::numeric_limits<T>::max()) {
  T found = 0;
  const bool is_one = read_whole_number(value, [&](auto number) {
    found = static_cast<T>(number);
    return std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most);
  });
  return is_one ? std::optional(found) : std::nullopt;
}

/// Receives a JSON text event by event and builds its tree. A derived class can store large parts
/// of a text in a form of its own: it overrides begin, key, scalar and end, which may throw, and
/// calls the functions of this class for the rest of the text.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `where` must outlive this object.
  explicit JsonTree(std::string_view where) : where_(where) {}
  ~JsonTree() override { clear_tree(root); }

  /// Parses the text by the rules of parse_json(), with the same errors. Stores the tree in `root`.
  void read(std::string_view text, JsonLimits limits = {});

  virtual void begin(nlohmann::json::value_t kind) { open_.push_back(&add(kind)); }
  bool key(std::string& name) override;  ///< throws Error(invalid_file) for a repeated name
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
  std::size_t depth_ = 0;  // of the open arrays and objects

 private:
  nlohmann::json& add(nlohmann::json value);

  void count_value();
  bool count_scalar(nlohmann::json&& value);
  bool count_begin(nlohmann::json::value_t kind);
  bool count_end();

  std::string_view text_;
  JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<nlohmann::json*> open_;  // outermost first
  nlohmann::json* member_ = nullptr;   // the member whose key was read last
};

/// Reads the members of a JSON object. If a member is not as expected, refuse() throws an error
/// that names it: Error(invalid_file) for files, and what a derived class has for requests
/// (Members). Holds a reference to the object, which must outlive it.
class JsonFields {
 public:
  /// Whether read() treats a member that is null as absent, or throws.
  enum class Null : std::uint8_t { absent, refused };

  /// `where` names the object in messages ("file: key"). Throws Error(invalid_file) unless `object`
  /// is a JSON object.
  JsonFields(const nlohmann::json& object, std::string where, Null null = Null::absent);
  virtual ~JsonFields() = default;

  /// Returns the member, or nullptr if it is absent or null.
  [[nodiscard]] virtual const nlohmann::json* find(std::string_view key) const;

  /// Return the member, or nothing if it is absent. Throw if it has another type.
  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key,
                                                  const char* expected = "a string") const;

  /// Returns the member, or `value` if it is absent.
  [[nodiscard]] bool flag(std::string_view key, bool value) const {
    return flag(key).value_or(value);
  }

  /// Leave `value` unchanged if the member is absent. Throw if it has another type or is out of
  /// range.
  void read(std::string_view key, bool& value) const { value = flag(key, value); }
  void read(std::string_view key, std::size_t& value, std::size_t least = 0,
            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  void read(std::string_view key, float& value,
            float most = std::numeric_limits<float>::max()) const;

  /// These also throw if the member is absent or null.
  [[nodiscard]] std::string required_string(std::string_view key) const;
  [[nodiscard]] const nlohmann::json& required_list(std::string_view key) const;
  [[nodiscard]] JsonFields required_object(std::string_view key) const;

  /// Throws Error(code) with the message "where: key is <found>; expected <expected>".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected, ErrorCode code) const;
  [[noreturn]] virtual void refuse(std::string_view key, std::string_view expected) const {
    refuse(key, expected, ErrorCode::invalid_file);
  }

  /// The same with the code unsupported, unless `holds`.
  void expect(bool holds, std::string_view key, std::string_view expected) const {
    if (!holds) refuse(key, expected, ErrorCode::unsupported);
  }

  [[nodiscard]] const nlohmann::json& object() const noexcept { return object_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  [[nodiscard]] const nlohmann::json* to_read(std::string_view key) const;

  const nlohmann::json& object_;
  std::string where_;
  Null null_;
};

}  // namespace gpt2
