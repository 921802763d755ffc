// Replaces editor.cpp in a build without libedit.
#include <cstdio>

#include "cli/terminal/console.h"
#include "cli/terminal/editor.h"

namespace gpt2::cli {

struct LineEditor::Impl {};

LineEditor::LineEditor(Completions) {}
LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  const bool is_coloured = shows_colours(stderr);
  std::fputs(is_coloured ? "\x1b[32m> " : "> ", stderr);
  const std::optional<std::string> line = read_line();
  if (is_coloured) std::fputs("\x1b[0m", stderr);
  if (!line) std::fputc('\n', stderr);
  return line;
}

}  // namespace gpt2::cli
