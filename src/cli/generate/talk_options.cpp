#include "cli/generate/talk_options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "requests/nearest.h"
#include "requests/other_names.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/options/fields.h"
#include "cli/terminal/console.h"
#include "cli/terminal/layout.h"

namespace gpt2::cli {
namespace {

// The settings of a talk whose command line has no options. A talk slides without --overflow.
Writing default_writing() {
  Writing writing;
  writing.options.overflow = Overflow::slide;
  return writing;
}

// Each of the functions shown_value() returns a value in the form in which /set takes it.

template <class Number>
requires std::is_arithmetic_v<Number> std::string shown_value(Number value) {
  return concat(value);
}

std::string shown_value(bool value) { return value ? "true" : "false"; }

std::string shown_value(Overflow value) { return value == Overflow::slide ? "slide" : "stop"; }

std::string shown_value(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string shown_value(const ExponentialDecay& value) {
  return concat(value.start, ",", value.factor);
}

std::string shown_value(const SequenceBias& value) {
  std::string text;
  for (const TokenId id : value.ids) text += concat(text.empty() ? "" : ",", id);
  return concat(text, "=", value.bias);
}

std::string shown_value(const std::pair<TokenId, float>& value) {
  return concat(value.first, "=", value.second);
}

template <class T>
std::string shown_value(const std::optional<T>& value) {
  return value ? shown_value(*value) : "none";
}

template <class T>
std::string shown_value(const std::vector<T>& values) {
  std::string text;
  const char* const comma = std::is_same_v<T, TokenId> ? "," : " ";
  for (const T& value : values) text += concat(text.empty() ? "" : comma, shown_value(value));
  return text.empty() ? "none" : text;
}

std::string shown_value(const std::vector<std::vector<TokenId>>&) { return ""; }  // see bad_words

// Returns the texts in a value: strings of JSON or, without quotes, one text without spaces, which
// may have the same escapes, such as \n. Throws UsageError for anything else. Without quotes,
// "Tom: Ben:" could be one text or two; so could two quotes without a space between them.
Arguments texts_in(const std::string& option, const std::string& value) {
  const bool is_quoted = value.starts_with('"');
  std::istringstream stream(is_quoted ? value : '"' + value + '"');
  Arguments texts;
  bool is_clear = is_quoted || value.find(' ') == value.npos;
  try {
    for (nlohmann::json text; is_clear && (stream >> std::ws).peek() != EOF;) {
      stream >> text;
      texts.push_back(text.get<std::string>());
      is_clear = stream.peek() != '"';
    }
    if (is_clear) return texts;
  } catch (const nlohmann::json::exception&) {  // is refused below
  }
  throw UsageError(
      option, concat("expected a text without spaces, or texts in quotes such as \"\\n\" \"Tom:\"",
                     ", found ", quote(value)));
}

// Returns the values of an option that takes several.
Arguments values_in(const Option& option, const std::string& value) {
  if (option.form == "TEXT") return texts_in(option.name(), value);
  std::istringstream words(value);
  return {std::istream_iterator<std::string>(words), {}};
}

// Returns the help of an option. On the command line, an option with several values is repeated.
std::string help_of(const Option& option) {
  if (!option.is_repeatable) return option.help;
  return option.help.substr(0, option.help.rfind("; may be repeated")) +
         (option.form == "TEXT" ? "; several texts are in quotes: \"\\n\" \"Tom:\""
                                : "; several are separated by spaces");
}

// The part of the options that has the rows of one of the two tables.
template <class Part>
const Part& part_of(const GenerationOptions& options) {
  if constexpr (std::is_same_v<Part, SamplingOptions>) {
    return options.sampling;
  } else {
    return options;
  }
}

std::string value_of(const Writing& writing, const std::string& option) {
  if (option == "--bad-words") return shown_value(writing.bad_words);
  if (option == "--greedy") return shown_value(writing.options.sampling.temperature == 0.0f);
  std::string text;
  GenerationOptions options = writing.options;
  for_each_field(options, [&](const auto& field, const auto& values) {
    if (option_name(field.name) == option) text = shown_value(values.*field.member);
  });
  return text;
}

}  // namespace

TalkOptions::TalkOptions(Writing& writing)
    : writing_(writing), options_("/set", "Options of /set", "") {
  // In a talk, a max_length limits each answer, and max_new_tokens already has the same number.
  writing.max_length.reset();
  add_writing_options(options_, writing, /*of_one_text=*/true);
  options_.at("--keep").needed = "";
}

void TalkOptions::set(const std::string& words, const std::function<void()>& check) {
  const std::size_t end = std::min(words.find_first_of(concat(kBlanks, "=")), words.size());
  const std::size_t after = words.substr(end).starts_with('=') ? end + 1 : end;
  try {
    take(words.substr(0, end),
         words.substr(std::min(words.find_first_not_of(kBlanks, after), words.size())));
    check();
  } catch (const UsageError& error) {
    reject(renamed(error.what()));  // not a mistake on the command line, as main() would report it
  }
}

void TalkOptions::take(const std::string& name, const std::string& value) {
  const Option& option = find(name);
  Arguments arguments = {option.name()};
  if (option.is_repeatable && !value.empty()) {
    restore(option);  // the values replace those before
    arguments.clear();
    for (const std::string& one : values_in(option, value)) {
      arguments.insert(arguments.end(), {option.name(), one});
    }
  } else if (option.takes_value()) {
    if (!value.empty()) arguments.push_back(value);
  } else if (value == "false") {
    return restore(option);
  } else if (!value.empty() && value != "true") {
    throw UsageError(option.name(), "expected true or false, found " + quote(value));
  }
  options_.parse(arguments);
  take_given(writing_, options_);
}

void TalkOptions::unset(const std::string& name) { restore(find(name)); }

void TalkOptions::restore(const Option& option) {
  const Writing defaults = default_writing();
  const std::string name = option.name() == "--greedy" ? "--temperature" : option.name();
  writing_.given.erase(name);
  if (name == "--bad-words") writing_.bad_words.clear();
  for_each_field(writing_.options, [&](const auto& field, auto& values) {
    using Part = std::remove_cvref_t<decltype(values)>;
    if (option_name(field.name) != name) return;
    values.*field.member = part_of<Part>(defaults.options).*field.member;
  });
}

std::string TalkOptions::list() const {
  const Writing defaults = default_writing();
  std::string text;
  for (const Option& option : options_.all()) {
    const std::string value = value_of(writing_, option.name());
    const bool is_changed = value != value_of(defaults, option.name());
    text += format("%c %-33s %s\n", is_changed ? '*' : ' ', table_name(option.name()).c_str(),
                   value.c_str());
  }
  return text + "* not the default; /unset OPTION restores it, /help OPTION describes it\n";
}

std::string TalkOptions::help(const std::string& name) const {
  const Option& option = find(name, "command or option");
  const std::string form = option.form.empty() ? "" : ' ' + option.form;
  return described("  " + table_name(option.name()) + form, renamed(help_of(option)),
                   text_columns(stderr));
}

std::vector<std::string> TalkOptions::names() const {
  std::vector<std::string> names;
  for (const Option& option : options_.all()) names.push_back(table_name(option.name()));
  return names;
}

// Returns the option for a name such as top_k or top-k. Throws Error if there is none; the message
// says that the name is no `what`.
const Option& TalkOptions::find(const std::string& name, const char* what) const {
  const std::string wanted = table_name(name);
  for (const Option& option : options_.all()) {
    if (table_name(option.name()) == wanted) return option;
  }
  const std::vector<std::string> all = names();
  const std::string advice = other_name_advice(wanted, [&](const std::string& here) {
    return std::ranges::count(all, here) == 0 ? "" : "'" + here + "'";
  });
  const std::string meant = nearest(wanted, all);
  reject("no ", what, " ", quote(name),
         !advice.empty()  ? " (" + advice + ")"
         : !meant.empty() ? " (did you mean '" + meant + "'?)"
                          : ": the options that /set lists change how tokens are drawn and texts "
                            "end");
}

// Returns the message with top_k in place of --top-k, and so on.
std::string TalkOptions::renamed(const std::string& message) const {
  std::string text;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t begin = std::min(message.find("--", at), message.size());
    const std::size_t end =
        std::min(message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin), message.size());
    const std::string word = message.substr(begin, end - begin);
    text += message.substr(at, begin - at);
    text += options_.find(word) != nullptr ? table_name(word) : word;
    at = end;
  }
  return text;
}

}  // namespace gpt2::cli
