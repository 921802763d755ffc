#include "cli/terminal/layout.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "cli/system/terminal.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kNarrow = 60;  // with fewer columns, descriptions stand below their names

// The column in which the descriptions of options begin.
std::size_t description_column(std::size_t columns) { return columns < kNarrow ? 6 : 28; }

// Appends the words of `text` to `line` and breaks it into lines of at most `columns`. All lines
// but the first begin with `indent` blanks.
std::string filled(const std::string& text, std::string line, std::size_t indent,
                   std::size_t columns) {
  std::string lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string value;
    if (word == "(default" && words >> value) word += ' ' + value;  // keep these two words together
    if (line.size() > indent && line.size() + 1 + word.size() > columns) {
      lines += line + '\n';
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return lines + line + '\n';
}

// Returns a line that begins with a name, and the description of the name, filled in a column of
// its own.
std::string filled_row(std::string name, const std::string& description, std::size_t column,
                       std::size_t columns) {
  std::string before;
  if (name.size() + 2 > column) {
    if (name.size() > columns) name.replace(name.rfind(' '), 1, '\n' + std::string(column, ' '));
    before = std::exchange(name, "") + '\n';
  }
  name.resize(column, ' ');
  return before + filled(description, std::move(name), column, columns);
}

// Returns the column of the second part of a row of a table, or 0 if the line is not such a row.
std::size_t second_part(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = begin == 0 ? line.npos : line.find("  ", begin);
  const std::size_t part = line.find_first_not_of(' ', gap);
  return gap == line.npos || part == line.npos ? 0 : part;
}

}  // namespace

std::size_t text_columns(std::FILE* stream) {
  const char* const given = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (given == nullptr || !read_number(given, columns)) columns = terminal_columns(stream);
  return columns == 0 ? 80 : std::clamp<std::size_t>(columns, 40, 100);
}

std::string described(std::string name, const std::string& description, std::size_t columns) {
  return filled_row(std::move(name), description, description_column(columns), columns);
}

std::string filled_paragraphs(const std::string& text, std::size_t columns) {
  std::string result, paragraph, name;
  std::size_t column = 0;  // of the descriptions, in a row of a table
  const auto end_paragraph = [&] {
    if (paragraph.empty()) return;
    const std::size_t place = column > columns / 2 ? 6 : column;
    result += column == 0 ? filled(paragraph, "", 0, columns)
                          : filled_row(std::exchange(name, ""), paragraph, place, columns);
    paragraph.clear();
    column = 0;
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t part = second_part(line);
    if (!line.empty() && (indent == 0 || indent == column)) {
      if (indent == 0 && column != 0) end_paragraph();
      paragraph += line.substr(indent) + ' ';
      continue;
    }
    end_paragraph();
    if (part == 0) {
      result += line + '\n';
      continue;
    }
    column = part;
    name = line.substr(0, line.find_last_not_of(' ', part - 1) + 1);
    paragraph = line.substr(part) + ' ';
  }
  end_paragraph();
  return result;
}

}  // namespace gpt2::cli
