// Replaces editor.cpp in a build without libedit.
#include <limits>

#include "cli/lines.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "cli/terminal/editor.h"

namespace gpt2::cli {

struct LineEditor::Impl {
  LineReader lines{open_standard_input(), "standard input",
                   std::numeric_limits<std::size_t>::max()};
};

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {}
LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  write_stderr("> ");
  Line line;
  if (impl_->lines.next(line)) return text_of(line);
  write_stderr("\n");
  return std::nullopt;
}

}  // namespace gpt2::cli
