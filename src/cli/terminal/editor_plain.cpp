// Replaces editor.cpp in a build without libedit.
#include <cstdio>

#include "cli/terminal/console.h"
#include "cli/terminal/editor.h"

namespace gpt2::cli {

struct LineEditor::Impl {};

LineEditor::LineEditor() = default;
LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  std::fputs("> ", stderr);
  const std::optional<std::string> line = read_line();
  if (!line) std::fputc('\n', stderr);
  return line;
}

}  // namespace gpt2::cli
