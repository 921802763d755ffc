#include "generate/options/option_json.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/json.h"
#include "base/text.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr OptionRange kTokenIds = {0, std::numeric_limits<TokenId>::max()};

bool read(const json& from, const OptionRange&, bool& value) {
  if (from.is_boolean()) value = from.get<bool>();
  return from.is_boolean();
}

template <std::floating_point Number>
bool read(const json& from, const OptionRange& range, Number& value) {
  if (!from.is_number()) return false;
  const double number = from.get<double>();
  if (std::abs(number) > double{std::numeric_limits<Number>::max()}) return false;
  value = static_cast<Number>(number);
  return range.contains(value);
}

// 1e3 and 2.0 are whole numbers, too.
template <std::integral Number>
bool read(const json& from, const OptionRange& range, Number& value) {
  if (from.is_number_integer()) {
    if (!from.is_number_unsigned() && from.get<std::int64_t>() < 0) return false;
    const auto number = from.get<std::uint64_t>();
    if (!range.contains(number)) return false;
    value = static_cast<Number>(number);
    return true;
  }
  if (!from.is_number_float()) return false;
  constexpr double kExact = 9007199254740992.0;  // up to here, a double holds every whole number
  const double number = from.get<double>();
  if (number != std::floor(number) || std::abs(number) > kExact) return false;
  if (!range.contains(number)) return false;
  value = static_cast<Number>(number);
  return true;
}

// Reads an array of elements that read_element(from, element) reads.
template <class Element, class ReadElement>
bool read_array(const json& from, std::vector<Element>& value, const ReadElement& read_element) {
  if (!from.is_array()) return false;
  value.clear();
  for (const auto& element : from) {
    if (!read_element(element, value.emplace_back())) return false;
  }
  return true;
}

bool read_sequence(const json& from, std::vector<TokenId>& ids) {
  const auto read_id = [](const auto& id, TokenId& value) { return read(id, kTokenIds, value); };
  return read_array(from, ids, read_id) && !ids.empty();
}

bool read(const json& from, const OptionRange&, std::vector<TokenId>& value) {
  if (from.is_array()) return read_sequence(from, value) || from.empty();
  value.assign(1, 0);
  return read(from, kTokenIds, value.front());
}

bool read(const json& from, const OptionRange&, std::vector<std::vector<TokenId>>& value) {
  return read_array(from, value, read_sequence);
}

bool read(const json& from, const OptionRange& range, std::vector<SequenceBias>& value) {
  return read_array(from, value, [&range](const auto& pair, SequenceBias& bias) {
    return pair.is_array() && pair.size() == 2 && read_sequence(pair[0], bias.ids) &&
           read(pair[1], range, bias.bias);
  });
}

bool read(const json& from, const OptionRange& range,
          std::vector<std::pair<TokenId, float>>& value) {
  if (!from.is_object()) return false;
  value.clear();
  for (const auto& [name, number] : from.items()) {
    auto& [id, bias] = value.emplace_back();
    if (!read_number(name, id) || id < 0 || !read(number, range, bias)) return false;
  }
  return true;
}

bool read(const json& from, const OptionRange& range, ExponentialDecay& value) {
  constexpr OptionRange kTokens = {0, kMaxOptionTokens};
  return from.is_array() && from.size() == 2 && read(from[0], kTokens, value.start) &&
         read(from[1], range, value.factor);
}

bool read(const json& from, const OptionRange&, std::vector<std::string>& value) {
  const auto read_text = [](const auto& text, std::string& element) {
    if (!text.is_string()) return false;
    element = text.template get_ref<const std::string&>();
    return !element.empty();
  };
  if (from.is_array()) return read_array(from, value, read_text);
  value.assign(1, "");
  return read_text(from, value.front());
}

bool read(const json& from, const OptionRange&, Overflow& value) {
  value = is_text(from, "slide") ? Overflow::slide : Overflow::stop;
  return value == Overflow::slide || is_text(from, "stop");
}

bool read(const json& from, const OptionRange&, EarlyStopping& value) {
  value = from == true ? EarlyStopping::yes : EarlyStopping::no;
  if (is_text(from, "never")) value = EarlyStopping::never;
  return from.is_boolean() || value == EarlyStopping::never;
}

template <class T>
bool read(const json& from, const OptionRange& range, std::optional<T>& value) {
  if constexpr (std::is_same_v<T, TokenId>) {
    return read(from, kTokenIds, value.emplace());
  } else {
    return read(from, range, value.emplace());
  }
}

template <class T>
json written(const T& value) {
  return value;
}

json written(const std::vector<SequenceBias>& value) {
  json pairs = json::array();
  for (const auto& [ids, bias] : value) pairs.push_back({ids, bias});
  return pairs;
}

json written(const std::vector<std::pair<TokenId, float>>& value) {
  json object = json::object();
  for (const auto& [id, bias] : value) object[std::to_string(id)] = bias;
  return object;
}

json written(const ExponentialDecay& value) { return {value.start, value.factor}; }

json written(const Overflow& value) { return value == Overflow::slide ? "slide" : "stop"; }

json written(const EarlyStopping& value) {
  if (value == EarlyStopping::never) return "never";
  return value == EarlyStopping::yes;
}

template <class T>
json written(const std::optional<T>& value) {
  return value ? written(*value) : json(nullptr);
}

// Each of these describes the values of a type; the pointer only selects the type.
template <class Number>
requires std::is_arithmetic_v<Number> std::string described(const Number*,
                                                            const OptionRange& range) {
  return range.text(std::integral<Number>);
}

std::string described(const bool*, const OptionRange&) { return "true or false"; }

std::string described(const std::optional<TokenId>*, const OptionRange&) { return "a token id"; }

std::string described(const std::optional<std::size_t>*, const OptionRange& range) {
  return range.text(true);
}

std::string described(const std::vector<TokenId>*, const OptionRange&) {
  return "a token id or an array of token ids";
}

std::string described(const std::vector<std::vector<TokenId>>*, const OptionRange&) {
  return "an array of arrays of token ids, none of them empty";
}

std::string described(const std::vector<SequenceBias>*, const OptionRange& range) {
  return concat("an array of pairs [[token id, ...], bias] with a bias from ", range.min, " to ",
                range.max);
}

std::string described(const std::vector<std::pair<TokenId, float>>*, const OptionRange& range) {
  return concat("an object of token ids and biases from ", range.min, " to ", range.max,
                " such as {\"11\": -100}");
}

std::string described(const std::optional<ExponentialDecay>*, const OptionRange& range) {
  return concat("[start, factor] with a factor from ", range.min, " to ", range.max);
}

std::string described(const std::vector<std::string>*, const OptionRange&) {
  return "a text or an array of texts, none of them empty";
}

std::string described(const Overflow*, const OptionRange&) { return "\"stop\" or \"slide\""; }

std::string described(const EarlyStopping*, const OptionRange&) {
  return "true, false or \"never\"";
}

}  // namespace

template <class T>
bool OptionJson<T>::read(const json& from, const OptionRange& range, T& value) {
  return gpt2::read(from, range, value);
}

template <class T>
json OptionJson<T>::write(const T& value) {
  return written(value);
}

template <class T>
std::string OptionJson<T>::form(const OptionRange& range) {
  return described(static_cast<const T*>(nullptr), range);
}

template struct OptionJson<bool>;
template struct OptionJson<float>;
template struct OptionJson<double>;
template struct OptionJson<std::size_t>;
template struct OptionJson<Overflow>;
template struct OptionJson<EarlyStopping>;
template struct OptionJson<std::vector<std::string>>;
template struct OptionJson<std::vector<TokenId>>;
template struct OptionJson<std::vector<std::vector<TokenId>>>;
template struct OptionJson<std::vector<SequenceBias>>;
template struct OptionJson<std::vector<std::pair<TokenId, float>>>;
template struct OptionJson<std::optional<TokenId>>;
template struct OptionJson<std::optional<std::size_t>>;
template struct OptionJson<std::optional<ExponentialDecay>>;

}  // namespace gpt2
