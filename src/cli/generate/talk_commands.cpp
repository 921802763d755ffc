#include "cli/generate/talk_commands.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/fail.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "cli/generate/talk_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/layout.h"

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
    {"stats", "", "show the number of tokens, the speed and the used context"},
    {"write", " FILE", "write the text to FILE, which must not exist yet"},
    {"save", " FILE", "save the session to FILE, for /load and --state alone"},
    {"load", " FILE", "continue the text of the session in FILE"},
    {"set", " [OPTION VALUE]", "change an option: /set top_k 10; alone, list all options"},
    {"unset", " OPTION", "give an option its default value again"},
    {"help", " [NAME]", "print this, or explain a command or option: /help top_k"},
    {"quit", "", "end"},
    {"exit", "", "end"},
};

constexpr const char* kBeforeCommands =
    R"(Each line is appended to the text, and the model continues it. A line break separates an
answer from the next line, and nothing separates a line from its answer. After an empty line, the
model continues the text as it is. Ctrl-C stops the text. A line that begins with a slash is a
command, which Tab completes:

)";

constexpr const char* kAfterCommands =
    R"(
/set stop \n ends each answer before its first line break. Several texts are in quotes, such as
/set stop "\n" "Tom:". They replace those that were set before.

To begin a text with a slash, type two: // A line that is just exit or quit is left out.)";

std::string row_of(const TalkCommand& command) {
  std::string call = concat("  /", command.name, command.form);
  call.resize(23, ' ');
  return concat(call, command.help, "\n");
}

const TalkCommand* find_command(std::string_view name) {
  const auto* const command = std::ranges::find(kTalkCommands, name, &TalkCommand::name);
  return command == std::end(kTalkCommands) ? nullptr : command;
}

}  // namespace

TypedCommand read_command(const std::string& line) {
  const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string name = line.substr(1, end - 1);
  std::string argument = line.substr(std::min(line.find_first_not_of(kBlanks, end), line.size()));
  argument.erase(argument.find_last_not_of(kBlanks) + 1);
  const TalkCommand* const command = find_command(name);
  if (command == nullptr) {
    reject("no command ", quote('/' + name),
           ": /help lists them; to begin a text with a slash, type two");
  }
  const bool is_optional = command->form.starts_with(" [");
  if (!is_optional && argument.empty() != command->form.empty()) {
    reject("expected /", name, command->form);
  }
  return {name, argument};
}

std::filesystem::path file_of(const std::string& argument) {
  constexpr std::size_t kMaxBytes = 4096;  // a longer name is a mistake
  std::string name = argument;
  const char mark = name.front();
  const bool is_quoted = mark == '"' || mark == '\'';
  if (is_quoted ? name.find(mark, 1) + 1 != name.size() : name.find('"') != name.npos) {
    reject("expected a file, or one in quotes, found ", quote(name));
  }
  if (is_quoted) name = name.substr(1, name.size() - 2);
  if (name.empty() || name.size() > kMaxBytes) reject("expected a file, found ", quote(name));
  const std::filesystem::path file = with_home(path_of(name == "~" ? "~/" : name));
  if (file.empty()) {
    reject(name, ": there is no home directory, because $", kHomeVariable, " is not set");
  }
  std::error_code ignored;
  if (is_directory(file, ignored)) reject(name, " is a directory: give the name of a file");
  return file;
}

std::string talk_help(const std::string& name, std::size_t columns) {
  if (name.empty()) {
    std::string rows;
    for (const TalkCommand& command : kTalkCommands) rows += row_of(command);
    return filled_paragraphs(kBeforeCommands + rows + kAfterCommands, columns);
  }
  const auto* const command = find_command(name.substr(name.starts_with('/') ? 1 : 0));
  if (command == nullptr) return option_help(name, columns);
  return filled_paragraphs(row_of(*command), columns);
}

std::vector<std::string> talk_completions(const std::string& begin) {
  std::vector<std::string> lines;
  if (!begin.starts_with('/')) return lines;
  const auto add = [&](const std::string& line) {
    if (line.starts_with(begin)) lines.push_back(line);
  };
  for (const auto& [name, form, help] : kTalkCommands) {
    const bool takes_name = form.find("OPTION") != form.npos || form.find("NAME") != form.npos;
    if (!takes_name || begin.find(' ') == begin.npos) {
      add(concat("/", name, form.empty() ? "" : " "));
      continue;
    }
    if (name == "help") {
      for (const TalkCommand& command : kTalkCommands) add(concat("/help ", command.name));
    }
    for (const std::string& option : option_names()) {
      add(concat("/", name, " ", option, name == "set" ? " " : ""));
    }
  }
  return lines;
}

}  // namespace gpt2::cli
