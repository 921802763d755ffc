#include "cli/generate/talk_options.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "base/fail.h"
#include "base/text.h"
#include "cli/options/fields.h"
#include "cli/terminal/console.h"
#include "cli/terminal/layout.h"
#include "requests/options.h"

namespace gpt2::cli {
namespace {

// Calls visit(field, values) for each option that /set can change, by role.
template <class Visitor>
void for_each_row(Writing& writing, const Visitor& visit) {
  using enum OptionRole;
  for (const OptionRole role : {draws, limits_length, penalizes, names_tokens}) {
    for_each_field(writing.options, [&](const auto& field, auto& values) {
      if (field.role == role) visit(field, values);
    });
  }
  visit(kBadWords, writing);
}

// Calls visit(field, values) for the option with this name.
template <class Visitor>
void with_row(Writing& writing, const std::string& name, const Visitor& visit) {
  std::string wanted = name;
  std::ranges::replace(wanted, '-', '_');
  bool is_found = false;
  for_each_row(writing, [&](const auto& field, auto& values) {
    if (wanted != field.name) return;
    is_found = true;
    visit(field, values);
  });
  if (!is_found) reject("no option ", quote(name), ": /set lists the options");
}

// The settings of a talk whose command line has no options. A talk slides without --overflow.
Writing default_writing() {
  Writing writing;
  writing.options.overflow = Overflow::slide;
  return writing;
}

// The part of the settings that has the rows of one table.
template <class Part>
const Part& part_of(const Writing& writing) {
  if constexpr (std::is_same_v<Part, Writing>) {
    return writing;
  } else if constexpr (std::is_same_v<Part, SamplingOptions>) {
    return writing.options.sampling;
  } else {
    return writing.options;
  }
}

// Returns the texts in a value: strings of JSON or, without quotes, one text without spaces, which
// may have the same escapes, such as \n. Without quotes, "Tom: Ben:" could be one text or two; so
// could two quotes without a space between them.
std::vector<std::string> texts_in(const char* option, const std::string& value) {
  const bool is_quoted = value.starts_with('"');
  std::istringstream stream(is_quoted ? value : '"' + value + '"');
  std::vector<std::string> texts;
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
  reject(option, ": expected a text without spaces, or texts in quotes such as \"\\n\" \"Tom:\"",
         ", found ", quote(value));
}

// Returns the words of a value, each of which OptionCodec<T>::read_text() reads.
std::vector<std::string> words_in(const char* option, const OptionForm& form,
                                  const std::string& value) {
  if (!form.is_list) return {form.word.empty() && value.empty() ? "true" : value};
  if (form.word == "TEXT") return texts_in(option, value);
  std::istringstream words(value);
  std::vector<std::string> list(std::istream_iterator<std::string>(words), {});
  return list.empty() ? std::vector<std::string>{""} : list;
}

}  // namespace

void set_option(Writing& writing, const std::string& words) {
  const std::size_t end = std::min(words.find_first_of(concat(kBlanks, "=")), words.size());
  const std::size_t after = words.substr(end).starts_with('=') ? end + 1 : end;
  const std::string name = words.substr(0, end);
  const std::string value =
      words.substr(std::min(words.find_first_not_of(kBlanks, after), words.size()));
  if (name == "greedy") {
    return value == "false" ? unset_option(writing, "temperature")
                            : set_option(writing, "temperature 0");
  }
  if (name == "seed" && value == "random") return draw_seed(writing);
  with_row(writing, name, [&](const auto& field, auto& values) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    const OptionForm form = OptionCodec<T>::form(field.range);
    T read = {};  // the values of a list replace those before
    for (const std::string& word : words_in(field.name, form, value)) {
      if (OptionCodec<T>::read_text(word, field.range, read)) continue;
      reject(field.name, ": expected ", form.text, ", found ", quote(word));
    }
    values.*field.member = read;
    writing.given.insert(option_name(field.name));
    // In a talk, a max_length limits each answer, and max_new_tokens already has the same number.
    writing.max_length.reset();
  });
}

void unset_option(Writing& writing, const std::string& name) {
  const Writing defaults = default_writing();
  with_row(writing, name == "greedy" ? "temperature" : name, [&](const auto& field, auto& values) {
    values.*field.member = part_of<std::remove_cvref_t<decltype(values)>>(defaults).*field.member;
    writing.given.erase(option_name(field.name));
    writing.max_length.reset();
  });
}

std::string option_values(const Writing& writing) {
  const Writing defaults = default_writing();
  Writing shown = writing;
  std::string text;
  for_each_row(shown, [&](const auto& field, const auto& values) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const auto& by_default = part_of<std::remove_cvref_t<decltype(values)>>(defaults);
    const std::string value = Codec::write_text(values.*field.member);
    const bool is_changed = value != Codec::write_text(by_default.*field.member);
    text += format("%c %-33s %s\n", is_changed ? '*' : ' ', field.name, value.c_str());
  });
  return text + "* not the default; /unset OPTION restores it, /help OPTION describes it\n";
}

std::string option_help(const std::string& name, std::size_t columns) {
  Writing writing = default_writing();
  std::string text;
  with_row(writing, name, [&](const auto& field, const auto& values) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const OptionForm form = Codec::form(field.range);
    const std::string value = Codec::write_text(values.*field.member);
    const std::string more = !form.is_list ? " (default " + value + ")"
                             : form.word == "TEXT"
                                 ? "; several texts are in quotes: \"\\n\" \"Tom:\""
                                 : "; several are separated by spaces";
    const std::string word = form.word.empty() ? "" : ' ' + form.word;
    text = described(concat("  ", field.name, word), field.help + more, columns);
  });
  return text;
}

std::vector<std::string> option_names() {
  Writing writing;
  std::vector<std::string> names;
  for_each_row(writing, [&](const auto& field, const auto&) { names.emplace_back(field.name); });
  return names;
}

}  // namespace gpt2::cli
