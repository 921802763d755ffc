#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// Writes all of it to standard output, now. Throws Error where nobody can read it any more
/// (SIGPIPE must be ignored) or the disk is full.
void write_stdout(std::string_view text);

/// The longest text that is read at once.
inline constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;

/// Standard input to its end. Throws Error where it cannot be read or is larger than that.
[[nodiscard]] std::string read_stdin();

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// What printf would write.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string format(const char* format, ...);

/// "gpt2: message" as one line on standard error; control characters become spaces, for a message
/// may quote a file.
void print_error(std::string_view message);

/// From now on the first Ctrl-C, SIGTERM or SIGHUP is only noted, for whoever is at work to come to
/// an end; the second one ends the program.
void note_interrupts();

/// 0, or what shells expect as the exit status after the signal that was noted: 130 for Ctrl-C.
[[nodiscard]] int interrupt_status();

/// Says on a terminal what is being done, and what share of it is, from 0 to 1, if that is known
/// (`what` must be short then); wipes it away once all is.
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
