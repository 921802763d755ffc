#include "requests/read/members.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "generate/options/option_codec.h"

namespace gpt2 {
namespace {

using nlohmann::json;

struct NamePair {
  std::string_view name, other;
};

// The other names that members have in OpenAI's APIs and in HuggingFace's generate().
constexpr NamePair kOtherNames[] = {{"max_new_tokens", "max_tokens"},
                                    {"max_new_tokens", "max_completion_tokens"},
                                    {"max_new_tokens", "max_output_tokens"},
                                    {"num_return_sequences", "n"},
                                    {"stop", "stop_strings"}};

// If a request has the first member, a default of the other one does not count.
constexpr NamePair kReplacements[] = {{"max_new_tokens", "max_length"},
                                      {"max_length", "max_new_tokens"},
                                      {"temperature", "do_sample"}};

// Calls visit(name) for the name of the table and then for the other names.
template <class Visitor>
void for_each_name(std::string_view name, const Visitor& visit) {
  visit(std::string(name));
  for (const NamePair& names : kOtherNames) {
    if (names.name == name) visit(std::string(names.other));
  }
}

// Removes the members that `over` replaces.
void remove_replaced(json& defaults, const json& over) {
  for (const auto& [written, value] : over.items()) {
    if (value.is_null()) continue;
    const std::string name = name_of_table(written);
    defaults.erase(name);
    for (const NamePair& names : kReplacements) {
      if (names.name == name) defaults.erase(std::string(names.other));
    }
  }
}

// Returns the names of an object's members, so that a message shows one that is mistyped.
std::string names_of(const json& object) {
  std::string names;
  for (const auto& [name, value] : object.items()) {
    if (names.size() > 200) return names + ", ...";
    names += concat(names.empty() ? "" : ", ", quote(name));
  }
  return names.empty() ? "no members" : "only " + names;
}

}  // namespace

std::string name_of_table(const std::string& name) {
  const auto* const found = std::ranges::find(kOtherNames, name, &NamePair::other);
  return std::string(found == std::end(kOtherNames) ? name : found->name);
}

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

void merge_request(json& defaults, const json& over) {
  remove_replaced(defaults, over);
  for (const auto& [written, value] : over.items()) {
    if (!value.is_null()) defaults[name_of_table(written)] = value;
  }
}

Members Members::of_request(const json& request, const json& defaults) {
  Members members(request);
  members.defaults_.root = defaults;
  remove_replaced(members.defaults_.root, request);
  return members;
}

const json* Members::find(std::string_view name) const {
  if (has(name)) return &object()[*written(name)];
  const auto by_default = defaults_.root.find(name);
  return by_default == defaults_.root.end() ? nullptr : &*by_default;
}

std::optional<std::string> Members::written(std::string_view name) const {
  std::optional<std::string> found;
  for_each_name(name, [&](const std::string& one) {
    if (JsonFields::find(one) == nullptr) return;
    if (found) {
      reject_member(where() + one, "\"", *found, "\" says the same: remove one of them");
    }
    found = one;
  });
  return found;
}

bool Members::has(std::string_view name) const {
  for_each_name(name, [&](const std::string& one) { known_.insert(one); });
  return written(name).has_value();
}

std::string Members::name(std::string_view name) const {
  return where() + written(name).value_or(std::string(name));
}

const json& Members::need(std::string_view name) const {
  const json* const value = find(name);
  if (value != nullptr) return *value;
  const std::string path = concat(where(), name);
  throw RequestError(concat("expected \"", path, "\", found ",
                            object().contains(name) ? "null" : names_of(object())),
                     path, RequestError::kMissing);
}

void Members::refuse(std::string_view name, std::string_view expected) const {
  reject(name, "expected ", expected, ", found ", find(name)->dump(-1, ' ', true).substr(0, 60));
}

std::optional<std::size_t> Members::count(std::string_view name, std::size_t min,
                                          std::size_t max) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const OptionRange range = {static_cast<double>(min), static_cast<double>(max)};
  std::size_t count = 0;
  if (!OptionCodec<std::size_t>::read(*value, range, count)) refuse(name, range.text(true));
  return count;
}

std::size_t Members::word(std::string_view name,
                          std::initializer_list<std::string_view> words) const {
  const std::optional<std::string> given = text(name);
  if (!given) return 0;
  std::string expected;
  for (const std::string_view& word : words) {
    if (word == *given) return static_cast<std::size_t>(&word - words.begin());
    expected += concat(expected.empty() ? "" : " or ", word);
  }
  refuse(name, expected);
}

void Members::refuse_others() const {
  for (const auto& [name, value] : object().items()) {
    if (known_.contains(name) || value.is_null()) continue;
    const std::string path = where() + name;
    throw RequestError(concat("unknown key ", quote(path), ": remove it"),
                       path.substr(0, place_to_cut(path, 200)), RequestError::kUnknown);
  }
}

}  // namespace gpt2
