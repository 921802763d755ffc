#include "support/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace gpt2::test {
namespace {

std::FILE* temporary_file(const std::string& content) {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file");
  std::fwrite(content.data(), 1, content.size(), file);
  std::rewind(file);
  return file;
}

// Opens a terminal for the command. Sets `keyboard` to the test's end of the terminal, and types
// `input` on it.
std::FILE* new_terminal(int& keyboard, const std::string& input, unsigned short columns) {
  keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (keyboard < 0 || grantpt(keyboard) != 0 || unlockpt(keyboard) != 0) {
    throw std::runtime_error("no terminal");
  }
  const winsize size = {.ws_row = 0, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  if (columns != 0) ioctl(keyboard, TIOCSWINSZ, &size);
  std::FILE* const terminal = fdopen(open(ptsname(keyboard), O_RDWR | O_NOCTTY), "r+");
  if (terminal == nullptr || write(keyboard, input.data(), input.size()) < 0) {
    throw std::runtime_error("no terminal");
  }
  return terminal;
}

std::vector<char*> pointers(Words& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// If a name occurs twice, the first value counts, so `words` override the variables that are added.
Words environment(Words words) {
  static const TemporaryDirectory home;
  words.push_back("HOME=" + home.path().string());
  words.push_back("GPT2_MODELS=" GPT2_MODELS_DIR);
  for (const char* name :
       {"PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) words.push_back(std::string(name) + '=' + value);
  }
  return words;
}

// In /proc/PID/stat, the state follows the name of the program, which may contain spaces.
bool sleeping(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  return stat.find(") S ") != std::string::npos;
}

}  // namespace

const std::string kNullDevice = "/dev/null";

struct Command::Process {
  pid_t id = -1;
  int input = -1;  // the test's end of the pipe
  int output = -1;
  int terminal = -1;  // the test's end of the command's terminal
  std::FILE* errors = temporary_file("");
};

Command::Command(const Words& arguments, const Surroundings& surroundings)
    : process_(std::make_unique<Process>()) {
  Words words = {command_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Words variables = environment(surroundings.environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  std::FILE* const input =
      surroundings.terminal
          ? new_terminal(process_->terminal, surroundings.input, surroundings.columns)
          : temporary_file(surroundings.input);
  int pipe_ends[2];
  int input_ends[2] = {fileno(input), -1};
  if (pipe2(pipe_ends, O_CLOEXEC) != 0 ||
      (surroundings.pipe && pipe2(input_ends, O_CLOEXEC) != 0)) {
    throw std::runtime_error("no pipe");
  }

  process_->id = fork();
  if (process_->id == 0) {
    dup2(input_ends[0], STDIN_FILENO);
    dup2(fileno(surroundings.terminal_errors ? input : process_->errors), STDERR_FILENO);
    dup2(surroundings.output.empty() ? pipe_ends[1] : open(surroundings.output.c_str(), O_WRONLY),
         STDOUT_FILENO);
    if (surroundings.terminal_output) dup2(fileno(input), STDOUT_FILENO);
    if (surroundings.output == "-") close(STDOUT_FILENO);
    if (chdir(surroundings.directory.c_str()) == 0)
      execve(surroundings.program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  if (surroundings.pipe) close(input_ends[0]);
  std::fclose(input);
  close(pipe_ends[1]);
  process_->input = input_ends[1];
  process_->output = pipe_ends[0];
}

Command::~Command() {
  close_input();
  if (process_->id > 0) {
    kill();
    wait();
  }
  close_output();
  if (process_->terminal >= 0) close(process_->terminal);
  std::fclose(process_->errors);
}

void Command::read(std::size_t bytes) {
  char buffer[4096];
  ssize_t count = 1;
  while (out.size() < bytes && count > 0) {
    count = ::read(process_->output, buffer, sizeof buffer);
    if (count > 0) out.append(buffer, static_cast<std::size_t>(count));
  }
}

void Command::write(const std::string& bytes) {
  if (::write(process_->input, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot write to the pipe");
  }
}

void Command::close_input() {
  if (process_->input >= 0) close(process_->input);
  process_->input = -1;
}

void Command::fill_output() {
  constexpr int kSize = 4096;  // the smallest a pipe can have
  fcntl(process_->output, F_SETPIPE_SZ, kSize);
  // A write of two bytes blocks even if there is room for one.
  for (int waiting = 0; waiting + 1 < kSize || !sleeping(process_->id);) {
    usleep(1000);
    if (ioctl(process_->output, FIONREAD, &waiting) != 0) throw std::runtime_error("no pipe");
  }
}

void Command::close_output() {
  if (process_->output >= 0) close(process_->output);
  process_->output = -1;
}

void Command::await_error(const std::string& text) {
  char buffer[4096];
  while (err.find(text) == std::string::npos) {
    const ssize_t count = ::read(process_->terminal, buffer, sizeof buffer);
    if (count <= 0) throw std::runtime_error("standard error has no '" + text + "': " + err);
    err.append(buffer, static_cast<std::size_t>(count));
  }
}

void Command::type_after(const std::string& text, const std::string& keys) {
  await_error(text);
  err.erase(0, err.find(text) + text.size());
  if (::write(process_->terminal, keys.data(), keys.size()) < 0)
    throw std::runtime_error("no terminal");
}

void Command::send(int signal) const { ::kill(process_->id, signal); }

std::vector<int> Command::signals() { return {SIGINT, SIGTERM, SIGHUP}; }

void Command::kill() const { send(-kKilled); }
static_assert(-Command::kKilled == SIGKILL);

bool Command::running() const {
  siginfo_t ended = {};
  waitid(P_PID, static_cast<id_t>(process_->id), &ended, WEXITED | WNOHANG | WNOWAIT);
  return ended.si_pid == 0;
}

int Command::wait() {
  if (process_->output >= 0) read(static_cast<std::size_t>(-1));
  int status = 0;
  waitpid(process_->id, &status, 0);
  process_->id = -1;
  std::rewind(process_->errors);
  for (int c; (c = std::fgetc(process_->errors)) != EOF;) err += static_cast<char>(c);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace gpt2::test
