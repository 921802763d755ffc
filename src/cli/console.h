#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// Writes all of `text` to standard output, unbuffered. Throws Error where that fails, for example
/// because the disk is full. If nobody reads the pipe any more, ends the process by SIGPIPE, as a
/// program does that does not ignore this signal.
void write_stdout(std::string_view text);

/// The longest text that is read at once.
inline constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;

/// Reads standard input to its end; if it is a terminal, first says on standard error that it
/// waits. Throws Error if it cannot be read or is longer than kMaxTextBytes.
[[nodiscard]] std::string read_stdin();

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// What printf would write.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string format(const char* format, ...);

/// Writes "gpt2: message" as one line to standard error, for an error or a note. Control
/// characters become spaces, because a message may quote a file.
void print_error(std::string_view message);

/// From now on, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP is only noted, so that the work in
/// progress can come to a clean end; the second one ends the process. A signal that the process
/// ignores, as nohup makes it ignore SIGHUP, stays ignored.
void note_interrupts();

/// Whether a signal was noted.
[[nodiscard]] bool interrupted();

/// If a signal was noted, ends the process by it. A shell leaves its loop where a command of it was
/// ended by Ctrl-C; it would go on to the next command after an ordinary exit, whatever the status.
void end_if_interrupted();

/// Says on a terminal, in one line, what is being done and, if part() is called, which share of it,
/// from 0 to 1, is done already. The destructor or done() wipes the line away. A long `what` is
/// cut.
class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress() { done(); }
  void part(double share);
  void done();

 private:
  std::string shown_;
};

}  // namespace gpt2::cli
