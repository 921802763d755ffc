#include "base/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gpt2 {
namespace {

template <class Tree>
std::string text_of(const Tree& tree) {
  return tree.dump(-1, ' ', false, Tree::error_handler_t::replace);
}

}  // namespace

Json::Json(const nlohmann::json& tree) : text_(text_of(tree)) {}
Json::Json(const nlohmann::ordered_json& tree) : text_(text_of(tree)) {}

Json Json::array(std::initializer_list<Json> elements) { return Json(std::vector(elements)); }

void Json::write(double number) {
  if (!std::isfinite(number)) return write(nullptr);
  const std::string digits = concat(number);
  text_ += digits;
  if (digits.find_first_of(".e") == std::string::npos) text_ += ".0";
}

void Json::write(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) {
    text_.append("\"").append(text).append("\"");
  } else {
    text_ += text_of(nlohmann::json(text));
  }
}

void Json::reopen() {
  text_.pop_back();
  if (text_.size() > 1) text_ += ',';
}

void Json::push_back(const Json& element) {
  reopen();
  text_.append(element.text_).append("]");
}

void Json::add(std::string_view name, const Json& value) {
  reopen();
  write(name);
  text_.append(":").append(value.text_).append("}");
}

void Json::add(Members members) {
  for (const Member& member : members) add(member.name, member.value);
}

void Json::add_members_of(const Json& object) {
  if (object.text_.size() == 2) return;
  reopen();
  text_.append(object.text_, 1);
}

}  // namespace gpt2
