#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace gpt2 {

/// A JSON value that is being written: its text, on one line, to which elements and members are
/// appended. No array or object becomes a tree. So an answer takes as much memory as its text, and
/// there is no more to an allocation that fails than its std::bad_alloc. (To destroy a tree, the
/// JSON library allocates memory.)
///
/// A value is made of nullptr, a bool, a number, a text, a range, which becomes an array, a map,
/// which becomes an object, or an optional, which becomes null if it is empty. Numbers have as few
/// digits as they need to be read back; NaN and infinity become null. Texts have U+FFFD in place of
/// bytes that are not UTF-8.
///
/// Example:
///   Json answer = {{"model", name}, {"tokens", std::vector{1, 2}}};
///   answer.add("loss", 3.5f);
///   answer.text();  // {"model":"gpt2","tokens":[1,2],"loss":3.5}
class Json {
 public:
  /// A member of an object. Holds a reference to the value.
  struct Member {
    Member(std::string_view of_name, const Json& of_value) : name(of_name), value(of_value) {}

    std::string_view name;
    const Json& value;
  };
  using Members = std::initializer_list<Member>;

  Json() : text_("null") {}
  Json(Members members) : text_("{}") { add(members); }
  template <class Value>
  requires(!std::same_as<Value, Json>) Json(const Value& value) { write(value); }

  /// The value of a tree.
  Json(const nlohmann::json& tree);
  Json(const nlohmann::ordered_json& tree);

  [[nodiscard]] static Json array(std::initializer_list<Json> elements = {});
  [[nodiscard]] static Json object() { return Json(Members()); }

  /// REQUIRES: the value is an array.
  void push_back(const Json& element);

  /// REQUIRES: the value is an object, which does not have members of these names.
  void add(std::string_view name, const Json& value);
  void add(Members members);

  /// Appends all members of another object.
  void add_members_of(const Json& object);

  [[nodiscard]] bool is_string() const { return text_.front() == '"'; }
  [[nodiscard]] bool is_object() const { return text_.front() == '{'; }

  [[nodiscard]] const std::string& text() const& noexcept { return text_; }
  [[nodiscard]] std::string text() && noexcept { return std::move(text_); }

 private:
  void reopen();  // for one more element or member

  void write(std::nullptr_t) { text_ += "null"; }
  void write(double number);
  void write(float number) { write(short_number(number)); }
  void write(std::string_view text);

  template <class Value>
  void write(const Value& value) {
    if constexpr (std::same_as<Value, bool>) {
      text_ += value ? "true" : "false";
    } else if constexpr (std::integral<Value>) {
      text_ += concat(value);
    } else if constexpr (std::convertible_to<const Value&, std::string_view>) {
      write(std::string_view(value));
    } else if constexpr (requires { value.has_value(); }) {
      *this = value ? Json(*value) : Json();
    } else if constexpr (requires { typename Value::mapped_type; }) {
      text_ += "{}";
      for (const auto& [name, member] : value) add(name, member);
    } else {
      text_ += "[]";
      for (const auto& element : value) push_back(element);
    }
  }

  std::string text_;
};

}  // namespace gpt2
