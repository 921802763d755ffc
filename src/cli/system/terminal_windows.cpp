#include "cli/system/terminal.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>

#include "base/utf8.h"

namespace gpt2::cli {
namespace {

struct Range {
  char32_t first, last;
};

// The characters that take no column, and those that take two: the larger blocks of Unicode's
// EastAsianWidth.txt, and emoji.
constexpr Range kMarks[] = {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                           {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t kCount>
bool is_in(const Range (&ranges)[kCount], char32_t character) {
  return std::ranges::any_of(
      ranges, [&](Range range) { return range.first <= character && character <= range.last; });
}

HANDLE handle_of(std::FILE* stream) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream)));
}

}  // namespace

const char* const kEndKeys = "Ctrl-Z and Enter";

void prepare_streams() {
  for (std::FILE* const stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
  SetConsoleCP(CP_UTF8);
  SetConsoleOutputCP(CP_UTF8);
  // A console shows a character only if its bytes come together. Whoever writes flushes the stream.
  for (std::FILE* const stream : {stdout, stderr}) {
    std::setvbuf(stream, nullptr, _IOFBF, 1 << 16);
    DWORD mode = 0;
    if (!GetConsoleMode(handle_of(stream), &mode)) continue;
    SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

bool is_terminal(std::FILE* stream) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of(stream), &mode) != 0;
}

std::size_t terminal_columns(std::FILE* stream) {
  CONSOLE_SCREEN_BUFFER_INFO screen = {};
  if (!GetConsoleScreenBufferInfo(handle_of(stream), &screen)) return 0;
  return static_cast<std::size_t>(screen.srWindow.Right - screen.srWindow.Left + 1);
}

void prepare_widths() {}

Glyph first_glyph(std::string_view text) {
  const Utf8Char first = decode_utf8(text);
  if (first.kind != Utf8Char::Kind::valid) return {text.substr(0, 1), 1};
  const std::size_t wide = is_in(kWide, first.code_point) ? 2 : 1;
  return {text.substr(0, first.length), is_in(kMarks, first.code_point) ? 0 : wide};
}

}  // namespace gpt2::cli
