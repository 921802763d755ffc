#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gpt2::test {

using Words = std::vector<std::string>;

/// What surrounds a run of the gpt2 command. Of the environment only PATH, HOME (an empty
/// directory) and the sanitizers' options are handed on.
struct Surroundings {
  std::string input = {};                     ///< standard input, or what is typed
  std::filesystem::path directory = ".";      ///< the current directory
  std::vector<std::string> environment = {};  ///< more "NAME=value"
  bool terminal = false;                      ///< standard input is a terminal
  bool terminal_errors = false;               ///< with `terminal`: so is standard error
  std::string output = {};  ///< a file for standard output; "": a pipe; "-": closed
  std::filesystem::path program = GPT2_COMMAND;
};

/// A run of the gpt2 command. Standard output is a pipe, which nobody reads unless asked to.
class Command {
 public:
  explicit Command(const Words& arguments, const Surroundings& surroundings = {});
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Reads standard output until it has at least this many bytes, or its end.
  void read(std::size_t bytes);

  /// Reads nothing until standard output is full and the command, of one thread, waits in a write.
  void fill_output();
  void close_output();

  /// Reads standard error, a terminal, until it has this text.
  void await_error(const std::string& text);
  void send(int signal) const;
  [[nodiscard]] bool running() const;

  /// Reads to the end and waits. The exit status, or minus the signal that ended it.
  int wait();

  std::string out;  ///< standard output as far as it was read
  std::string err;  ///< standard error, after wait(); of a terminal as far as it was read

 private:
  pid_t process_ = -1;
  int output_ = -1;
  int terminal_ = -1;  // our end of the command's terminal
  std::FILE* errors_;
};

/// A run that has ended.
struct Outcome {
  int status;
  std::string out;
  std::string err;
};

[[nodiscard]] Outcome run(const Words& arguments, const Surroundings& surroundings = {});

}  // namespace gpt2::test
