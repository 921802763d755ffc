// Replaces editor.cpp in a build without libedit.
#include <limits>

#include "cli/lines.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

std::optional<std::string> edit_line() {
  static LineReader lines(open_standard_input(), "standard input",
                          std::numeric_limits<std::size_t>::max());
  write_stderr("> ");
  Line line;
  if (lines.next(line)) return text_of(line);
  write_stderr("\n");
  return std::nullopt;
}

}  // namespace gpt2::cli
