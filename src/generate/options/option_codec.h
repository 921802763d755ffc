#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/names.h"
#include "base/text.h"
#include "gpt2/option_fields.h"

// How the values of options are read, written and checked. Everything that reads an option from a
// text or writes it uses these functions: the command, /set, requests in JSON,
// generation_config.json and the list of options for other languages.

namespace gpt2 {

struct OptionForm {
  const char* type;  ///< "boolean", "integer", "number", "choice", "texts", or "json" for others
  std::string json;  ///< what JSON may be, after "expected"
  std::string word;  ///< stands for a word of the command line: "N"; "" for a switch
  std::string text;  ///< what the word may be, after "expected"
  bool is_list = false;  ///< whether each word adds an element to the value
};

using TokenIds = std::vector<TokenId>;

inline constexpr OptionRange kTokenIds = {0, std::numeric_limits<TokenId>::max()};

/// All that is known about the values of type T. A new type of option is one more specialization.
///
///   read(json, range, value)
///     returns false, and may change `value`, if the JSON has another form or a number outside the
///     range
///   parse(word)
///     returns a word of the command line as JSON that read() accepts or refuses; of a list, an
///     element or, if the list is an object, an object with a member
///   write(value)
///     returns the JSON that read() reads
///   form(range)
///   check(name, range, value)
///     throws Error(invalid_argument), which begins with `name`, for a number out of range; absent
///     if no number is checked
///   ids(value)
///     returns the sequences of token ids; absent if there are none
template <class T>
struct OptionCodec;

template <>
struct OptionCodec<bool> {
  static bool read(const nlohmann::json& from, const OptionRange&, bool& value) {
    if (from.is_boolean()) value = from.get<bool>();
    return from.is_boolean();
  }
  static nlohmann::json parse(std::string_view word) {
    if (word == "true" || word == "false") return word == "true";
    return word;
  }
  static Json write(bool value) { return value; }
  static OptionForm form(const OptionRange&) {
    return {"boolean", "true or false", "", "true or false"};
  }
};

template <class Number>
requires std::is_arithmetic_v<Number>
struct OptionCodec<Number> {
  static constexpr bool kIsWhole = std::is_integral_v<Number>;

  // 1e3 and 2.0 are whole numbers, too.
  static bool read(const nlohmann::json& from, const OptionRange& range, Number& value) {
    if (kIsWhole && from.is_number_integer()) {
      return read_whole_number(from, [&](auto number) {
        value = static_cast<Number>(number);  // a negative seed is the one with the same bits
        return range.contains(number);
      });
    }
    if (!from.is_number()) return false;
    constexpr double kExact = 9007199254740992.0;  // up to here, a double holds every whole number
    constexpr auto kLargest = static_cast<double>(std::numeric_limits<Number>::max());
    const double number = from.get<double>();
    const bool is_infinite = !kIsWhole && std::isinf(number);  // which some ranges allow
    if (std::abs(number) > (kIsWhole ? kExact : kLargest) && !is_infinite) return false;
    if (kIsWhole && number != std::floor(number)) return false;
    value = static_cast<Number>(number);
    return kIsWhole ? range.contains(number) : range.contains(value);
  }
  static nlohmann::json parse(std::string_view word) {
    if (std::int64_t whole = 0; read_number(word, whole)) return whole;
    if (std::uint64_t whole = 0; read_number(word, whole)) return whole;
    if (double number = 0.0; read_number(word, number)) return number;
    return word;
  }
  static Json write(Number value) { return value; }
  static OptionForm form(const OptionRange& range) {
    const std::string text = range.text(kIsWhole);
    return {kIsWhole ? "integer" : "number", text, "N", text};
  }
  static void check(std::string_view name, const OptionRange& range, Number value) {
    if (range.contains(value)) return;
    reject(name, " must be ", range.text(kIsWhole), ", got ", value);
  }
};

template <>
inline constexpr auto kNamesOf<Overflow> = std::to_array<std::string_view>({"stop", "slide"});
template <>
inline constexpr auto kNamesOf<EarlyStopping> = std::to_array<std::string_view>({"false", "true",
                                                                                 "never"});

template <class T>
requires std::is_enum_v<T>
struct OptionCodec<T> {
  static nlohmann::json parse(std::string_view word) { return OptionCodec<bool>::parse(word); }
  static Json write(T value) { return parse(name_in_list(value)); }
  static bool read(const nlohmann::json& from, const OptionRange&, T& value) {
    for (std::size_t i = 0; i < kNamesOf<T>.size(); ++i) {
      value = static_cast<T>(i);
      if (parse(kNamesOf<T>[i]) == from) return true;
    }
    return false;
  }
  static OptionForm form(const OptionRange&) {
    OptionForm form = {"choice", "", words_of<T>(), listed_names<T>()};
    for (std::size_t i = 0; i < kNamesOf<T>.size(); ++i) {
      const char* const comma = i == 0 ? "" : i + 1 == kNamesOf<T>.size() ? " or " : ", ";
      form.json += comma + write(static_cast<T>(i)).text();
    }
    return form;
  }
  static void check(std::string_view name, const OptionRange&, T value) {
    if (static_cast<std::size_t>(value) < kNamesOf<T>.size()) return;
    reject(name, " has the value ", static_cast<int>(value), ", but the last one is ",
           kNamesOf<T>.size() - 1);
  }
};

// Splits "a=b" at the first separator. Without one, the second part is empty.
inline std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

// A list, each of whose elements is a word of the command line.
template <class Element, class One = OptionCodec<Element>>
struct ListOf {
  using T = std::vector<Element>;
  static bool read(const nlohmann::json& from, const OptionRange& range, T& value) {
    value.clear();
    return from.is_array() && std::ranges::all_of(from, [&](const nlohmann::json& one) {
             return One::read(one, range, value.emplace_back());
           });
  }
  static nlohmann::json parse(std::string_view word) { return One::parse(word); }
  static Json write(const T& value) {
    Json list = Json::array();
    for (const Element& one : value) list.push_back(One::write(one));
    return list;
  }
  static OptionForm form(const OptionRange& range) { return One::form(range); }
  static void check(std::string_view name, const OptionRange& range, const T& value) requires
      requires(Element one) {
    One::check(name, range, one);
  }
  {
    for (const Element& one : value) One::check(name, range, one);
  }
  static std::vector<TokenIds> ids(const T& value) requires requires(Element one) {
    One::ids_of(one);
  }
  {
    std::vector<TokenIds> all;
    for (const Element& one : value) all.push_back(One::ids_of(one));
    return all;
  }
};

// Token ids as an element: at least one and, in JSON, an array.
struct Sequence {
  static bool read(const nlohmann::json& from, const OptionRange&, TokenIds& value) {
    return ListOf<TokenId>::read(from, kTokenIds, value) && !value.empty();
  }
  static nlohmann::json parse(std::string_view word) {
    nlohmann::json ids = nlohmann::json::array();
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      ids.push_back(OptionCodec<TokenId>::parse(word.substr(begin, end - begin)));
      begin = end + 1;
    }
    return ids;
  }
  static Json write(const TokenIds& value) { return value; }
  static OptionForm form(const OptionRange&) {
    return {"json", "an array of arrays of token ids, none of them empty", "IDS",
            "token ids such as 11,13", true};
  }
  static TokenIds ids_of(const TokenIds& value) { return value; }
};

template <>
struct OptionCodec<std::vector<TokenIds>> : ListOf<TokenIds, Sequence> {};

template <>
struct OptionCodec<TokenIds> : Sequence {
  static bool read(const nlohmann::json& from, const OptionRange& range, TokenIds& value) {
    if (from.is_array()) return Sequence::read(from, range, value) || from.empty();
    value.assign(1, 0);
    return OptionCodec<TokenId>::read(from, kTokenIds, value.front());
  }
  static OptionForm form(const OptionRange&) {
    return {"json", "a token id or an array of token ids", "IDS", "token ids such as 11,13"};
  }
  static std::vector<TokenIds> ids(const TokenIds& value) {
    return std::vector<TokenIds>(value.empty() ? 0 : 1, value);
  }
};

template <>
struct OptionCodec<SequenceBias> {
  static bool read(const nlohmann::json& from, const OptionRange& range, SequenceBias& value) {
    return from.is_array() && from.size() == 2 && Sequence::read(from[0], range, value.ids) &&
           OptionCodec<float>::read(from[1], range, value.bias);
  }
  static nlohmann::json parse(std::string_view word) {
    const auto [ids, bias] = split(word, '=');
    return {Sequence::parse(ids), OptionCodec<float>::parse(bias)};
  }
  static Json write(const SequenceBias& value) { return Json::array({value.ids, value.bias}); }
  static OptionForm form(const OptionRange& range) {
    const std::string bias = concat("a bias from ", range.min, " to ", range.max);
    return {"json", "an array of pairs [[token id, ...], bias] with " + bias, "IDS=BIAS",
            "IDS=BIAS with " + bias, true};
  }
  static void check(std::string_view name, const OptionRange& range, const SequenceBias& value) {
    OptionCodec<float>::check(name, range, value.bias);
  }
  static TokenIds ids_of(const SequenceBias& value) { return value.ids; }
};

template <>
struct OptionCodec<std::vector<SequenceBias>> : ListOf<SequenceBias> {};

using TokenBias = std::pair<TokenId, float>;

template <>
struct OptionCodec<TokenBias> {
  static nlohmann::json parse(std::string_view word) {
    const auto [id, bias] = split(word, '=');
    return {{std::string(id), OptionCodec<float>::parse(bias)}};
  }
  static OptionForm form(const OptionRange& range) {
    const std::string from = concat(" from ", range.min, " to ", range.max);
    return {"json", "an object of token ids and biases" + from + " such as {\"11\": -100}",
            "ID=BIAS", "ID=BIAS with a bias" + from, true};
  }
  static void check(std::string_view name, const OptionRange& range, const TokenBias& value) {
    OptionCodec<float>::check(name, range, value.second);
  }
  static TokenIds ids_of(const TokenBias& value) { return {value.first}; }
};

template <>
struct OptionCodec<std::vector<TokenBias>> : ListOf<TokenBias> {
  static bool read(const nlohmann::json& from, const OptionRange& range, T& value) {
    if (!from.is_object()) return false;
    value.clear();
    for (const auto& [key, bias] : from.items()) {
      value.emplace_back();
      const nlohmann::json id = OptionCodec<TokenId>::parse(key);
      if (!OptionCodec<TokenId>::read(id, kTokenIds, value.back().first)) return false;
      if (!OptionCodec<float>::read(bias, range, value.back().second)) return false;
    }
    return true;
  }
  static Json write(const T& value) {
    Json object = Json::object();
    for (const auto& [id, bias] : value) object.add(std::to_string(id), bias);
    return object;
  }
};

template <>
struct OptionCodec<std::string> {
  static bool read(const nlohmann::json& from, const OptionRange&, std::string& value) {
    if (from.is_string()) value = from.get<std::string>();
    return from.is_string() && !value.empty();
  }
  static nlohmann::json parse(std::string_view word) { return word; }
  static Json write(const std::string& value) { return value; }
  static OptionForm form(const OptionRange&) {
    return {"texts", "a text or an array of texts, none of them empty", "TEXT", "a text", true};
  }
};

template <>
struct OptionCodec<std::vector<std::string>> : ListOf<std::string> {
  static bool read(const nlohmann::json& from, const OptionRange& range, T& value) {
    if (from.is_array()) return ListOf::read(from, range, value);
    value.assign(1, "");
    return OptionCodec<std::string>::read(from, range, value.front());
  }
};

template <>
struct OptionCodec<ExponentialDecay> {
  using T = ExponentialDecay;
  static constexpr OptionRange kTokens = {0, kMaxOptionTokens};
  static bool read(const nlohmann::json& from, const OptionRange& range, T& value) {
    return from.is_array() && from.size() == 2 &&
           OptionCodec<std::size_t>::read(from[0], kTokens, value.start) &&
           OptionCodec<double>::read(from[1], range, value.factor);
  }
  static nlohmann::json parse(std::string_view word) {
    const auto [start, factor] = split(word, ',');
    return {OptionCodec<std::size_t>::parse(start), OptionCodec<double>::parse(factor)};
  }
  static Json write(const T& value) { return Json::array({value.start, value.factor}); }
  static OptionForm form(const OptionRange& range) {
    const std::string factor = concat("a factor from ", range.min, " to ", range.max);
    return {"json", "[start, factor] with " + factor, "START,FACTOR",
            "a number of tokens and " + factor + " such as 20,1.05"};
  }
  static void check(std::string_view name, const OptionRange& range, const T& value) {
    OptionCodec<double>::check(concat("the factor of ", name), range, value.factor);
  }
};

// A value that may be absent. As a TokenId, it is a token.
template <class T>
struct OptionCodec<std::optional<T>> {
  static constexpr bool kIsToken = std::is_same_v<T, TokenId>;
  static bool read(const nlohmann::json& from, const OptionRange& range, std::optional<T>& value) {
    return OptionCodec<T>::read(from, kIsToken ? kTokenIds : range, value.emplace());
  }
  static nlohmann::json parse(std::string_view word) { return OptionCodec<T>::parse(word); }
  static Json write(const std::optional<T>& value) {
    return value ? OptionCodec<T>::write(*value) : Json();
  }
  static OptionForm form(const OptionRange& range) {
    if constexpr (kIsToken) return {"integer", "a token id", "ID", "a token id"};
    return OptionCodec<T>::form(range);
  }
  static void check(std::string_view name, const OptionRange& range,
                    const std::optional<T>& value) requires(!kIsToken) {
    if (value) OptionCodec<T>::check(name, range, *value);
  }
  static std::vector<TokenIds> ids(const std::optional<TokenId>& value) requires kIsToken {
    return std::vector<TokenIds>(value ? 1 : 0, TokenIds(1, value.value_or(0)));
  }
};

/// Throws Error(invalid_argument), which begins with `name`, if the value has a token id outside
/// the vocabulary or a sequence without ids.
template <class T>
void check_ids(std::string_view name, const T& value, std::size_t vocab_size) {
  if constexpr (requires { OptionCodec<T>::ids(value); }) {
    for (const TokenIds& ids : OptionCodec<T>::ids(value)) {
      if (ids.empty()) reject(name, " has a sequence without tokens: give at least one");
      for (const TokenId id : ids) {
        if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) continue;
        reject(name, " has the token ", id, ", which is outside the vocabulary of ", vocab_size,
               ": give ids from 0 to ", vocab_size - 1);
      }
    }
  }
}

/// Throws Error(invalid_argument), which names the option, if an option is outside its range, has a
/// token id outside the vocabulary, or has a sequence without ids.
void check_options(const SamplingOptions& options, std::size_t vocab_size);

/// The same for the options of generation, without their sampling options, and for those of a beam
/// search, which may also contradict one another.
void check_options(const GenerationOptions& options);
void check_options(const BeamOptions& options);

}  // namespace gpt2
