#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <new>
#include <string>

#include "cli/system/system.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

namespace {

constexpr auto kInvalid = static_cast<std::size_t>(-1);  // what mbrtowc() returns

// Reads a character from the terminal. Returns 1, or 0 at the end of the input, or -1 if a signal
// was recorded. (poll() returns after a signal, whereas read() may be restarted.)
int read_character(EditLine*, wchar_t* character) {
  std::mbstate_t state = {};
  while (!interrupted()) {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, -1) < 0) continue;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) <= 0) return 0;
    std::size_t length = std::mbrtowc(character, &byte, 1, &state);
    if (length == kInvalid) {  // the bytes before this one are not a character; drop them
      state = {};
      length = std::mbrtowc(character, &byte, 1, &state);
    }
    if (length <= 1) return 1;
    if (length == kInvalid) state = {};
  }
  return -1;
}

// A terminal that was asked to puts these before and behind a text that is pasted.
constexpr const char* kPasteBegin = "\033[200~";
constexpr const wchar_t* kPasteEnd = L"\033[201~";

// Inserts a pasted text into the line. Its line breaks do not end the line.
unsigned char paste(EditLine* editor, int) {
  try {
    std::wstring text;
    for (wchar_t c = 0; !text.ends_with(kPasteEnd) && el_wgetc(editor, &c) == 1;) {
      text += c == L'\r' ? L'\n' : c;
    }
    if (text.ends_with(kPasteEnd)) text.resize(text.size() - std::wcslen(kPasteEnd));
    return el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  } catch (const std::bad_alloc&) {  // C cannot pass an exception on
    return CC_ERROR;
  }
}

void mark_pastes(bool marks) {
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || std::strcmp(terminal, "dumb") == 0) return;
  write_stderr(marks ? "\033[?2004h" : "\033[?2004l");
}

char* prompt(EditLine*) {
  static char text[] = "> ";
  return text;
}

struct Editor {
  Editor() {
    // Before el_init(), for the widths of characters. The second name is that of macOS.
    if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "UTF-8");
    editor = el_init("gpt2", stdin, stderr, stderr);
    if (editor == nullptr || lines == nullptr) throw std::bad_alloc();
    HistEvent event;
    history(lines, &event, H_SETSIZE, 1000);
    history(lines, &event, H_SETUNIQUE, 1);
    el_set(editor, EL_HIST, history, lines);
    el_set(editor, EL_PROMPT, prompt);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_GETCFN, read_character);
    el_set(editor, EL_ADDFN, "paste", "Insert a pasted text", paste);
    el_set(editor, EL_BIND, kPasteBegin, "paste", nullptr);
    el_source(editor, nullptr);
    mark_pastes(true);
  }
  ~Editor() {  // the terminal is then as before
    mark_pastes(false);
    el_end(editor);
    history_end(lines);
  }

  EditLine* editor;
  History* lines = history_init();
};

}  // namespace

std::optional<std::string> edit_line() {
  static std::optional<Editor> open;
  if (!open) open.emplace();
  EditLine* const editor = open->editor;
  while (true) {
    note_interrupts();
    el_set(editor, EL_PREP_TERM, 1);  // before the prompt, so that no key is typed too early
    int length = 0;
    const char* const text = el_gets(editor, &length);
    const bool is_dropped = interrupted();
    if (text == nullptr || is_dropped) write_stderr("\n");
    forget_ctrl_c();
    if (is_dropped && !interrupted()) continue;
    if (text == nullptr || interrupted()) break;
    std::string line(text, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.pop_back();
    HistEvent event;
    if (!line.empty()) history(open->lines, &event, H_ENTER, line.c_str());
    return line;
  }
  open.reset();
  return std::nullopt;
}

}  // namespace gpt2::cli
