#include "cli/terminal/editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cwchar>
#include <new>
#include <utility>

#include "cli/system/interrupts.h"
#include "cli/system/terminal.h"
#include "cli/terminal/console.h"
#include "cli/terminal/layout.h"

namespace gpt2::cli {

struct LineEditor::Impl {
  Completions completions;
  bool is_coloured = shows_colours(stderr);
  EditLine* editor = el_init("gpt2", stdin, stderr, stderr);
  History* history = history_init();

  static unsigned char complete(EditLine* editor, int);
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

constexpr char kEscape = '\1';  // surrounds what takes no column of the prompt

char* prompt(EditLine*) {
  static char text[] = "> ";
  return text;
}

// Begins a colour, in which the typed characters are shown, too.
char* coloured_prompt(EditLine*) {
  static char text[] = "\1\x1b[32m\1> ";
  return text;
}

std::string common_beginning(const std::vector<std::string>& lines) {
  std::string common = lines.front();
  for (const std::string& line : lines) {
    const auto end = std::ranges::mismatch(common, line).in1;
    common.erase(end, common.end());
  }
  return common;
}

// Shows the last words of the lines below the line that is being edited.
void list(const std::vector<std::string>& lines) {
  std::string words = "\n";
  for (const std::string& line : lines) words += line.substr(line.find(' ') + 1) + ' ';
  write_stderr(filled_paragraphs(words, text_columns(stderr)));
}

}  // namespace

// The key Tab: adds what all completions have in common or, if that is nothing, shows them.
unsigned char LineEditor::Impl::complete(EditLine* editor, int) {
  Impl* impl = nullptr;
  el_get(editor, EL_CLIENTDATA, &impl);
  const LineInfo* const line = el_line(editor);
  const std::string begin(line->buffer, line->cursor);
  const std::vector<std::string> lines = impl->completions(begin);
  if (lines.empty()) return CC_ERROR;
  const std::string common = common_beginning(lines);
  if (common.size() > begin.size()) {
    return el_insertstr(editor, common.c_str() + begin.size()) == 0 ? CC_REFRESH : CC_ERROR;
  }
  list(lines);
  return CC_REDISPLAY;
}

LineEditor::LineEditor(Completions completions) {
  prepare_widths();
  impl_ = std::make_unique<Impl>(Impl{.completions = std::move(completions)});
  EditLine* const editor = impl_->editor;
  if (editor == nullptr || impl_->history == nullptr) throw std::bad_alloc();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, 1000);
  history(impl_->history, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_HIST, history, impl_->history);
  if (impl_->is_coloured) {
    el_set(editor, EL_PROMPT_ESC, coloured_prompt, kEscape);
  } else {
    el_set(editor, EL_PROMPT, prompt);
  }
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_CLIENTDATA, impl_.get());
  el_set(editor, EL_ADDFN, "gpt2-complete", "Complete a command", Impl::complete);
  el_set(editor, EL_BIND, "^I", "gpt2-complete", nullptr);
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
    if (impl_->is_coloured) write_stderr("\x1b[0m");
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
