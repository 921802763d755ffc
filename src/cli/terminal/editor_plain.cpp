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
  write_stderr(is_coloured ? "\x1b[32m> " : "> ");
  const std::optional<std::string> line = read_line();
  if (is_coloured) write_stderr("\x1b[0m");
  if (!line) write_stderr("\n");
  return line;
}

}  // namespace gpt2::cli
