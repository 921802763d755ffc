#include "cli/terminal/layout.h"

#include <cstddef>
#include <sstream>
#include <utility>

namespace gpt2::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 28;  // the column in which descriptions begin

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

}  // namespace

std::string described(std::string name, const std::string& description) {
  std::string before;
  if (name.size() + 2 > kColumn) before = std::exchange(name, "") + '\n';
  name.resize(kColumn, ' ');
  return before + filled(description, std::move(name), kColumn);
}

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

}  // namespace gpt2::cli
