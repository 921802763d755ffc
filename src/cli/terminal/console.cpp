#include "cli/terminal/console.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/system/system.h"

namespace gpt2::cli {
namespace {

bool is_silent = false;
bool line_is_shown = false;  // by Progress, on the terminal

void erase_line() {
  if (std::exchange(line_is_shown, false)) write_stderr("\r\x1b[K");
}

void show_line(const std::string& line) {
  write_stderr((std::exchange(line_is_shown, true) ? "\r\x1b[K" : "") + line);
}

// Appends the words of `text` to `line` and breaks it into lines. All lines but the first begin
// with `indent` blanks.
std::string filled(const std::string& text, std::string line, std::size_t indent) {
  constexpr std::size_t kColumns = 80;
  std::string lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string value;
    if (word == "(default" && words >> value) word += ' ' + value;  // keep these two words together
    if (line.size() > indent && line.size() + 1 + word.size() > kColumns) {
      lines += line + '\n';
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return lines + line + '\n';
}

}  // namespace

void write_stdout(std::string_view text) {
  if (is_terminal(kStdout)) erase_line();
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  if (pipe_was_closed()) end_by_closed_pipe();
  reject_with_errno("cannot write to standard output");
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void reject_with_errno(const std::string& message) { reject(message, ": ", reason_of(errno)); }

void require_replaceable(const std::filesystem::path& file, const std::string& kind,
                         const std::function<bool(const std::filesystem::path&)>& is_kind) {
  static_cast<void>(NewFile(file));  // throws if the file cannot be written
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  if (absent || bytes == 0 || is_kind(file)) return;
  reject(file.string(), " is not ", kind, ", so it is not replaced by one: give another file");
}

std::string format(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::va_list again;
  va_copy(again, values);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, values)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(values);
  return text;
}

void print_error(std::string_view message) {
  erase_line();
  write_stderr(concat("gpt2: ", printable(message), "\n"));
}

Progress::Progress(const std::string& what) {
  if (is_silent || !is_terminal(kStderr)) return;
  shown_ = printable(what);
  // Cut the text so that it fits on one line, because done() can erase only one.
  shown_.resize(place_to_cut(shown_, 60));
  show_line(shown_ + " ...");
}

void Progress::part(double share) {
  const double seconds = seconds_since(start_);
  std::string left;
  if (share > 0.0 && seconds > 2.0) {
    const auto whole = static_cast<std::size_t>(seconds * (1.0 - share) / share);
    left = format(", %zu:%02zu:%02zu left", whole / 3600, whole / 60 % 60, whole % 60);
  }
  show(format("%.0f %%%s", 100.0 * share, left.c_str()));
}

void Progress::show(const std::string& state) {
  if (!shown_.empty()) show_line(concat(shown_, " ... ", state));
}

void Progress::done() {
  if (!shown_.empty()) erase_line();
  shown_.clear();
}

void silence_progress() { is_silent = true; }

bool progress_is_silent() { return is_silent; }

std::string described(std::string name, const std::string& description) {
  constexpr std::size_t kColumn = 28;  // of the description
  const std::string before = name.size() + 2 > kColumn ? std::exchange(name, "") + '\n' : "";
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
    if (!line.empty() && line[0] != ' ') {
      paragraph += line + ' ';
    } else {
      end_paragraph();
      result += line + '\n';
    }
  }
  end_paragraph();
  return result;
}

}  // namespace gpt2::cli
