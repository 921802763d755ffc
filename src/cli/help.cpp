#include "cli/help.h"

#include <cstddef>
#include <sstream>
#include <utility>
#include <vector>

namespace gpt2::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 28;  // the column in which descriptions begin

using Options = std::vector<const CLI::Option*>;

// Appends the words of `text` to `line` and breaks it into lines of at most kWidth columns. All
// lines but the first begin with `indent` blanks.
std::string filled(const std::string& text, std::string line, std::size_t indent) {
  std::string lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string value;
    if (word == "(default" && words >> value) word += ' ' + value;  // keep these two words together
    if (line.size() > indent && line.size() + 1 + word.size() > kWidth) {
      lines += line + '\n';
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return lines + line + '\n';
}

// Fills the paragraphs of a text, and keeps its indented lines and its empty ones.
std::string filled_paragraphs(const std::string& text) {
  std::string result, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) result += filled(std::exchange(paragraph, ""), "", 0);
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with(' ')) {
      paragraph += line + ' ';
      continue;
    }
    end_paragraph();
    result += line + '\n';
  }
  end_paragraph();
  return result;
}

std::string group_text(const std::string& name, const Options& options) {
  if (options.empty()) return "";
  std::string text = '\n' + name + ":\n";
  for (const CLI::Option* const option : options) text += help_entry(*option);
  return text;
}

}  // namespace

std::string help_entry(const CLI::Option& option) {
  const bool is_positional = option.get_positional();
  std::string line = "  " + option.get_name(is_positional, !is_positional);
  if (!is_positional && !option.get_option_text().empty()) line += ' ' + option.get_option_text();
  std::string before;
  if (line.size() + 2 > kColumn) before = std::exchange(line, "") + '\n';
  line.resize(kColumn, ' ');
  return before + filled(option.get_description(), std::move(line), kColumn);
}

std::string help_text(const CLI::App& app) {
  const Options arguments =
      app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  std::string text = app.get_description() + "\n\nUsage: " + app.get_name() + " [OPTIONS]";
  for (const CLI::Option* const argument : arguments) {
    const std::string name = argument->get_name();
    text += argument->get_required() ? ' ' + name : " [" + name + ']';
  }
  text += '\n' + group_text("Arguments", arguments);
  for (const std::string& group : app.get_groups()) {
    text += group_text(group, app.get_options([&](const CLI::Option* option) {
      return !option->get_positional() && option->get_group() == group;
    }));
  }
  return text + '\n' + filled_paragraphs(app.get_footer());
}

}  // namespace gpt2::cli
