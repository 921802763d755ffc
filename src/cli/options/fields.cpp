#include "cli/options/fields.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/text.h"

namespace gpt2::cli {
namespace {

// Each of the functions read() reads a value of one type from the text of an option. It returns
// false if the text has another form or a number outside the range.

template <class Number>
requires std::is_arithmetic_v<Number>
bool read(std::string_view text, const OptionRange& range, Number& value) {
  return read_number(text, value) && range.contains(value);
}

bool read(std::string_view, const OptionRange&, bool& value) {
  value = true;  // a switch
  return true;
}

// Token ids that are separated by commas.
bool read(std::string_view text, const OptionRange&, std::vector<TokenId>& ids) {
  ids.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    TokenId& id = ids.emplace_back();
    if (!read_number(text.substr(begin, end - begin), id) || id < 0) return false;
    begin = end + 1;
  }
  return true;
}

bool read(std::string_view text, const OptionRange& range, std::optional<std::size_t>& value) {
  return read(text, range, value.emplace());
}

// IDS=BIAS, which is added to the biases before it.
bool read(std::string_view text, const OptionRange& range, std::vector<SequenceBias>& value) {
  const std::size_t equals = std::min(text.find('='), text.size());
  auto& [ids, bias] = value.emplace_back(SequenceBias{.ids = {}, .bias = 0.0f});
  return equals < text.size() && read(text.substr(equals + 1), range, bias) &&
         read(text.substr(0, equals), range, ids);
}

// ID=BIAS
bool read(std::string_view text, const OptionRange& range,
          std::vector<std::pair<TokenId, float>>& value) {
  std::vector<SequenceBias> biases;
  if (!read(text, range, biases) || biases.front().ids.size() != 1) return false;
  value.emplace_back(biases.front().ids.front(), biases.front().bias);
  return true;
}

// START,FACTOR
bool read(std::string_view text, const OptionRange& range, std::optional<ExponentialDecay>& value) {
  const std::size_t comma = std::min(text.find(','), text.size());
  auto& [start, factor] = value.emplace();
  constexpr OptionRange kTokens = {0, kMaxOptionTokens};
  return comma < text.size() && read(text.substr(0, comma), kTokens, start) &&
         read(text.substr(comma + 1), range, factor);
}

bool read(std::string_view text, const OptionRange&, std::vector<std::string>& value) {
  value.emplace_back(text);
  return !text.empty();
}

bool read(std::string_view text, const OptionRange&, Overflow& value) {
  value = text == "slide" ? Overflow::slide : Overflow::stop;
  return text == "slide" || text == "stop";
}

bool read(std::string_view text, const OptionRange&, EarlyStopping& value) {
  value = text == "true"    ? EarlyStopping::yes
          : text == "never" ? EarlyStopping::never
                            : EarlyStopping::no;
  return text == "true" || text == "false" || text == "never";
}

// How the help and the messages describe the values of a type.
struct Form {
  const char* text;      // after the name in the help
  std::string expected;  // after "expected" in messages
  bool is_repeatable = false;
};

template <class T>
Form form_of(const OptionRange& range) {
  const std::string from =
      concat(" from ", range.also < range.min ? range.also : range.min, " to ", range.max);
  if constexpr (std::is_same_v<T, bool>) {
    return {"", ""};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return {"N", range.text(std::is_integral_v<T>)};
  } else if constexpr (std::is_same_v<T, std::optional<std::size_t>>) {
    return {"N", range.text(true)};
  } else if constexpr (std::is_same_v<T, std::vector<TokenId>>) {
    return {"IDS", "token ids such as 11,13"};
  } else if constexpr (std::is_same_v<T, std::vector<SequenceBias>>) {
    return {"IDS=BIAS", "IDS=BIAS with a bias" + from, true};
  } else if constexpr (std::is_same_v<T, std::vector<std::pair<TokenId, float>>>) {
    return {"ID=BIAS", "ID=BIAS with a bias" + from, true};
  } else if constexpr (std::is_same_v<T, std::optional<ExponentialDecay>>) {
    return {"START,FACTOR", "a number of tokens and a factor" + from + " such as 20,1.05"};
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return {"TEXT", "a text", true};
  } else if constexpr (std::is_same_v<T, Overflow>) {
    return {"stop|slide", "stop or slide"};
  } else {
    static_assert(std::is_same_v<T, EarlyStopping>);
    return {"true|false|never", "true, false or never"};
  }
}

template <class Row, class Values>
void add_row(Options& options, const Row& field, Values& values) {
  using T = typename Row::Value;
  const std::string name = option_name(field.name);
  const std::string names = name == "--max-new-tokens" ? "-n," + name : name;
  const Form form = form_of<T>(field.range);
  std::string help = field.help;
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    help += concat(" (default ", values.*field.member, ")");
  }
  if (form.is_repeatable) help += "; may be repeated";
  const auto set = [=, &value = values.*field.member](const std::string& text) {
    if (read(text, field.range, value)) return;
    throw UsageError(name, "expected " + form.expected + ", found " + quote(text));
  };
  options.add(names, form.text, help, set).is_repeatable = form.is_repeatable;
}

// An id is read like several ids, so that a wrong one has the same message.
template <class Options_>
void add_row(Options& options, const OptionField<Options_, std::optional<TokenId>>& field,
             Options_& values) {
  const auto set = [field, &values](const std::string& text) {
    const std::string name = option_name(field.name);
    std::vector<TokenId> ids;
    if (!read(text, field.range, ids)) {
      throw UsageError(name, "expected token ids such as 11,13, found " + quote(text));
    }
    if (ids.size() != 1) throw UsageError(name, "expected one token id, found " + quote(text));
    values.*field.member = ids.front();
  };
  options.add(option_name(field.name), "ID", field.help, set);
}

// The command has --bad-words, which takes texts, in place of this row.
void add_row(Options&, const OptionField<SamplingOptions, std::vector<std::vector<TokenId>>>&,
             SamplingOptions&) {}

}  // namespace

std::string option_name(std::string_view field) {
  if (field == "bad_words_ids") return "--bad-words";
  std::string name = concat("--", field);
  std::ranges::replace(name, '_', '-');
  return name;
}

void add_fields(Options& options, OptionRole role, GenerationOptions& values,
                std::initializer_list<std::string_view> left_out) {
  for_each_field(values, [&](const auto& field, auto& of) {
    const bool is_left_out = std::ranges::count(left_out, std::string_view(field.name)) != 0;
    if (field.role == role && !is_left_out) add_row(options, field, of);
  });
}

void add_field(Options& options, std::string_view name, GenerationOptions& values,
               std::optional<OptionRange> range) {
  for_each_field(values, [&](auto field, auto& of) {
    if (field.name != name) return;
    field.range = range.value_or(field.range);
    add_row(options, field, of);
  });
}

void add_beam_fields(Options& options, BeamOptions& values) {
  for_each_beam_field([&](const auto& field) {
    if (std::string_view(field.name) != "pad_token_id") add_row(options, field, values);
  });
}

std::vector<std::string> drawing_options() {
  std::vector<std::string> names;
  for_each_sampling_field([&names](const auto& field) {
    if (field.role == OptionRole::draws) names.push_back(option_name(field.name));
  });
  return names;
}

}  // namespace gpt2::cli
