#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/test.h"

namespace gpt2::test {

using Words = std::vector<std::string>;

/// The gpt2 command under test: that of the build, unless the environment variable GPT2_COMMAND
/// names another one.
inline std::string command_path() {
  const char* const other = std::getenv("GPT2_COMMAND");
  return other != nullptr ? other : GPT2_BUILT_COMMAND;
}

/// The surroundings of a run of the gpt2 command. The command inherits only PATH and the
/// sanitizers' options from the environment; its HOME is an empty directory. GPT2_MODELS leads to
/// the bundled model, because the build directory may be far from the sources.
struct Surroundings {
  std::string input = {};                     ///< the content of standard input, or the keys typed
                                              ///< on the terminal
  bool pipe = false;                          ///< standard input is a pipe; fill it with write()
  std::filesystem::path directory = ".";      ///< the current directory
  std::vector<std::string> environment = {};  ///< more variables, "NAME=value"
  bool terminal = false;                      ///< standard input is a terminal
  bool terminal_errors = false;               ///< standard error is that terminal too
  bool terminal_output = false;  ///< standard output is that terminal too; read it with
                                 ///< the functions for standard error
  unsigned short columns = 0;    ///< of the terminal; 0: unknown
  std::string output = {};       ///< the file for standard output; "": a pipe; "-": closed
  std::filesystem::path program = command_path();
  bool console = true;  ///< on Windows, the command has a console, which send() needs. wine leaves
                        ///< the console behind if the command is killed while it starts
};

/// A file that takes everything and keeps nothing.
extern const std::string kNullDevice;

/// A run of the gpt2 command. Its standard output is a pipe. Only the functions whose comments say
/// so read it. On Windows, the functions that need POSIX throw. So do the surroundings `terminal`
/// and `output`. The test cases that need them have the tags [terminal] and [posix], which tell
/// tests/windows.cmake to leave them out.
class Command {
 public:
  /// What wait() returns after kill().
  static constexpr int kKilled = -9;

  explicit Command(const Words& arguments, const Surroundings& surroundings = {});
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Reads standard output until it has at least this many bytes, or its end.
  void read(std::size_t bytes);

  /// Writes to the pipe that is the command's standard input.
  void write(const std::string& bytes);
  void close_input();

  /// Reads no output. Waits until the pipe is full and the command, which must have one thread, is
  /// blocked in a write. Needs POSIX.
  void fill_output();
  void close_output();

  /// Reads standard error, which must be a terminal, until it has this text. Needs POSIX.
  void await_error(const std::string& text);

  /// Waits for the text on standard error, discards everything up to its end, and types the keys.
  /// Needs POSIX.
  void type_after(const std::string& text, const std::string& keys);

  /// Sends one of signals(). On Windows, SIGINT stands for Ctrl-C.
  void send(int signal) const;

  /// The signals that ask the command to end: SIGINT and, on POSIX, SIGTERM and SIGHUP.
  static std::vector<int> signals();

  /// Ends the process at once, so that it cannot finish what it does.
  void kill() const;
  [[nodiscard]] bool running() const;

  /// Reads standard output to its end and waits for the command. Returns the exit status, or minus
  /// the signal that ended the command.
  int wait();

  std::string out;  ///< the standard output that has been read so far
  std::string err;  ///< standard error: all of it after wait(); before, the part read from the
                    ///< terminal

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

/// The result of a run that has ended. `err` has no lines of progress, which only slow runs write.
struct Outcome {
  int status;
  std::string out;
  std::string err;
};

inline std::string without_progress(const std::string& err) {
  static const std::regex progress(
      "gpt2: (loading|writing|scoring|embedding|inspecting|quantizing|measuring)\\b[^\n]*\n");
  return std::regex_replace(err, progress, "");
}

[[nodiscard]] inline Outcome run(const Words& arguments, const Surroundings& surroundings = {}) {
  Command command(arguments, surroundings);
  const int status = command.wait();
  return {status, command.out, without_progress(command.err)};
}

/// Returns what the command writes. Checks that it succeeds and has no message.
[[nodiscard]] inline std::string output_of(const Words& arguments,
                                           const Surroundings& surroundings = {}) {
  const Outcome outcome = run(arguments, surroundings);
  CAPTURE(arguments, surroundings.input, outcome.out);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome.out;
}

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Checks that the command refuses the arguments with this status and one line on standard error,
/// which has each of the facts, and that it writes nothing else.
inline void check_refused(const Words& arguments, int status, const Words& facts,
                          const Surroundings& surroundings = {}) {
  const Outcome outcome = run(arguments, surroundings);
  CAPTURE(arguments, outcome.err);
  CHECK(outcome.status == status);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("gpt2: "));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  for (const std::string& fact : facts) {
    CAPTURE(fact);
    CHECK(contains(outcome.err, fact));
  }
}

/// Returns what follows "logits" in the lines of --stats: the hash of all logits.
[[nodiscard]] inline std::string hash_in(const std::string& stats) {
  const std::size_t at = stats.find("\nlogits      ");
  REQUIRE(at != std::string::npos);
  return stats.substr(at + 13);
}

/// Returns the JSON values on the lines of a text.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) values.push_back(nlohmann::json::parse(line));
  return values;
}

/// Returns the words of two lists.
[[nodiscard]] inline Words joined_words(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace gpt2::test
