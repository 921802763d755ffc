#include "cli/terminal/editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cwchar>
#include <new>

#include "cli/system/system.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

struct LineEditor::Impl {
  EditLine* editor = el_init("gpt2", stdin, stderr, stderr);
  History* history = history_init();
};

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

char* prompt(EditLine*) {
  static char text[] = "> ";
  return text;
}

}  // namespace

LineEditor::LineEditor() {
  // For the widths of characters. The second name is that of macOS.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "UTF-8");
  impl_ = std::make_unique<Impl>();
  EditLine* const editor = impl_->editor;
  if (editor == nullptr || impl_->history == nullptr) throw std::bad_alloc();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, 1000);
  history(impl_->history, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_HIST, history, impl_->history);
  el_set(editor, EL_PROMPT, prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_GETCFN, read_character);
  el_source(editor, nullptr);
}

LineEditor::~LineEditor() {
  el_end(impl_->editor);
  history_end(impl_->history);
}

std::optional<std::string> LineEditor::read() {
  while (true) {
    note_interrupts();
    el_set(impl_->editor, EL_PREP_TERM, 1);  // before the prompt, so that no key is typed too early
    int length = 0;
    const char* const text = el_gets(impl_->editor, &length);
    const bool is_dropped = interrupted();
    if (text == nullptr || is_dropped) write_stderr("\n");
    forget_ctrl_c();
    if (interrupted()) return std::nullopt;
    if (is_dropped) continue;
    if (text == nullptr) return std::nullopt;
    std::string line(text, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.pop_back();
    HistEvent event;
    if (!line.empty()) history(impl_->history, &event, H_ENTER, line.c_str());
    return line;
  }
}

}  // namespace gpt2::cli
