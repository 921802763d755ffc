#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/system/system.h"

namespace gpt2::cli {

/// Writes all of `text` to standard output and flushes it. Throws Error if that fails, for example
/// because the disk is full. If standard output is a pipe whose reader has gone away, ends the
/// process by SIGPIPE, like a program that does not ignore this signal.
void write_stdout(std::string_view text);

/// Writes a text to standard error in one piece. Nothing else writes there, because a console of
/// Windows shows a character only if its bytes come together.
void write_stderr(std::string_view text);

/// Reads a line from the terminal, after a prompt on standard error. Returns it without its
/// newline, or nothing at the end of the input (Ctrl-D) and after a signal other than Ctrl-C, which
/// is then recorded.
///
/// With libedit, lines can be edited, the arrow keys bring back earlier ones, and Ctrl-C drops the
/// line and begins a new one; ~/.editrc configures the keys. In a build without libedit, only the
/// editing keys of the terminal itself work, and Ctrl-C ends the process.
///
/// REQUIRES: standard input and standard error are terminals.
[[nodiscard]] std::optional<std::string> edit_line();

/// Throws Error unless a new file of a kind can be written under this name. A file that exists is
/// replaced only if it is empty or of the same kind, because its name may have been given by
/// mistake. `kind` is for the message: "the state of a session". Call it before long work.
void require_replaceable(const std::filesystem::path& file, const std::string& kind,
                         const std::function<bool(const std::filesystem::path&)>& is_kind);

/// Returns the text that printf would write.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string format(const char* format, ...);

/// Throws Error(invalid_argument). The message ends with the system's reason, which is in errno.
[[noreturn]] void reject_with_errno(const std::string& message);

/// Writes "gpt2: message", an error or a note, as one line to standard error. Control characters
/// become spaces, because a message may quote the content of a file.
void print_error(std::string_view message);

/// Shows the current activity on one line of standard error if that is a terminal. part() adds the
/// share of the work that is done, from 0 to 1, and the time that the rest will take; show() adds
/// any other text. The destructor and done() erase the line, and so does what is written to the
/// terminal meanwhile, until the next call. Truncates a long `what`.
class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress() { done(); }
  void part(double share);
  void show(const std::string& state);
  void done();

 private:
  std::string shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// From now on, Progress shows nothing.
void silence_progress();

[[nodiscard]] bool progress_is_silent();

/// Returns "  --name        what it does", with the description in a column of its own, in lines of
/// at most 80 characters. A name that leaves no room for the description stands on a line of its
/// own.
[[nodiscard]] std::string described(std::string name, const std::string& description);

/// Fills the paragraphs of a text to lines of at most 80 characters. Keeps its indented lines and
/// its empty ones.
[[nodiscard]] std::string filled_paragraphs(const std::string& text);

}  // namespace gpt2::cli
