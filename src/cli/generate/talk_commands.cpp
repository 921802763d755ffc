#include "cli/generate/talk_commands.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/text.h"
#include "cli/terminal/console.h"
#include "requests/read/options.h"

namespace gpt2::cli {
namespace {

// A command of a talk, such as "/save FILE".
struct TalkCommand {
  std::string_view name;  // "save"
  std::string_view form;  // what follows the name, " FILE", in brackets if it may be left out
  std::string_view help;
};

constexpr TalkCommand kTalkCommands[] = {
    {"again", "", "write the last answer again, with other random numbers"},
    {"undo", "", "take back the last line and its answer"},
    {"reset", "", "forget the text"},
    {"save", " FILE", "save the session to FILE, for /load and --state alone"},
    {"load", " FILE", "continue the text of the session in FILE"},
    {"set", " [OPTION VALUE]", "change an option: /set top_k 10; alone, list all options"},
    {"unset", " OPTION", "give an option its default value again"},
    {"help", "", "print this"},
    {"quit", "", "end"},
};

constexpr const char* kBeforeCommands =
    R"(Each line is appended to the text, and the model continues it. A line break separates an
answer from the next line, and nothing separates a line from its answer. After an empty line, the
model continues the text as it is. Ctrl-C stops the text. A line that begins with a slash is a
command; to begin a text with a slash, type two:

)";

constexpr const char* kAfterCommands =
    R"(
/set stop \n ends each answer before its first line break. Several texts are in quotes, such as
/set stop "\n" "Tom:". They replace those that were set before.)";

constexpr const char* kBlanks = " \t";

// Splits "set top_k 10" after its first word.
std::pair<std::string, std::string> first_word(const std::string& text) {
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  return {text.substr(0, end),
          text.substr(std::min(text.find_first_not_of(kBlanks, end), text.size()))};
}

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

// Returns the texts in a value: strings of JSON or, without quotes, one text, which may have the
// same escapes, such as \\n.
std::vector<std::string> texts_in(const char* option, const std::string& value) {
  std::istringstream stream(value.starts_with('"') ? value : '"' + value + '"');
  std::vector<std::string> texts;
  try {
    for (nlohmann::json text; (stream >> std::ws).peek() != EOF;) {
      stream >> text;
      texts.push_back(text.get<std::string>());
    }
    return texts;
  } catch (const nlohmann::json::exception&) {
    reject(option, ": expected texts in quotes such as \"\\n\" \"Tom:\", found ", quote(value));
  }
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

TypedCommand read_command(const std::string& line) {
  auto [name, argument] = first_word(line.substr(1));
  argument.erase(argument.find_last_not_of(kBlanks) + 1);
  const auto* const command = std::ranges::find(kTalkCommands, name, &TalkCommand::name);
  if (command == std::end(kTalkCommands)) {
    reject("no command ", quote('/' + name),
           ": /help lists them; to begin a text with a slash, type two");
  }
  const bool is_optional = command->form.starts_with(" [");
  if (!is_optional && argument.empty() != command->form.empty()) {
    reject("expected /", name, command->form);
  }
  return {name, argument};
}

std::string talk_help() {
  std::string rows;
  for (const TalkCommand& command : kTalkCommands) {
    std::string call = concat("  /", command.name, command.form);
    call.resize(23, ' ');
    rows += concat(call, command.help, "\n");
  }
  return filled_paragraphs(kBeforeCommands + rows + kAfterCommands);
}

void set_option(Writing& writing, const std::string& words) {
  const auto [name, value] = first_word(words);
  if (name == "seed" && value == "random") return draw_seed(writing);
  with_row(writing, name, [&, value = value](const auto& field, auto& values) {
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
  with_row(writing, name, [&](const auto& field, auto& values) {
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
  return text + "* not the default; /unset OPTION restores it\n";
}

}  // namespace gpt2::cli
