#include "cli/system/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cwchar>

namespace gpt2::cli {

const char* const kEndKeys = "Ctrl-D";

void prepare_streams() {}  // they and the terminals are like this from the start

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

std::size_t terminal_columns(std::FILE* stream) {
  winsize size = {};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// The second name is that of macOS.
void prepare_widths() {
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "UTF-8");
}

Glyph first_glyph(std::string_view text) {
  std::mbstate_t state = {};
  wchar_t character = 0;
  const std::size_t length = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (length == 0 || length > text.size()) return {text.substr(0, 1), 1};
  return {text.substr(0, length), static_cast<std::size_t>(std::max(0, wcwidth(character)))};
}

}  // namespace gpt2::cli
