#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "cli/system/system.h"

namespace gpt2::cli {
namespace {

struct stat status_of(int file) {
  struct stat status = {};
  fstat(file, &status);
  return status;
}

}  // namespace

// The system opens a directory, too, and only a read would fail.
int open_to_read(const std::string& name) {
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || !S_ISDIR(status_of(file).st_mode)) return file;
  close(file);
  errno = EISDIR;
  return -1;
}

int open_to_append(const std::string& name) {
  return open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

// If descriptor 1 or 2 is closed, dup() could return it, and output would be written to the input.
int open_standard_input() { return fcntl(STDIN_FILENO, F_DUPFD, STDERR_FILENO + 1); }

void close_file(int file) { close(file); }

bool is_terminal(int file) { return isatty(file) != 0; }

bool is_regular(int file) { return S_ISREG(status_of(file).st_mode); }

std::size_t size_of(int file) { return static_cast<std::size_t>(status_of(file).st_size); }

bool has_input(int file, int milliseconds) {
  pollfd events = {.fd = file, .events = POLLIN, .revents = 0};
  return poll(&events, 1, milliseconds) > 0;
}

std::ptrdiff_t read_some(int file, char* bytes, std::size_t count) {
  return read(file, bytes, count);
}

bool append_to(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool shorten(int file, std::size_t bytes) {
  return ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

bool flush_to_disk(int file) { return fsync(file) == 0; }

bool lock(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

namespace {

constexpr int kNotedSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler sets it");

// Ends the process by the default action of `signal`.
[[noreturn]] void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  raise(signal);
  // In process 1 of a container raise() returns, because the kernel does not apply the default
  // action to that process.
  std::_Exit(128 + signal);
}

// Sets the action of the signals that note_interrupts() records, except those that are ignored.
void set_action(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kNotedSignals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void note_interrupts() {
  set_action([](int signal) {
    noted = signal;
    set_action(SIG_DFL);
    if (signal == SIGHUP) ::signal(SIGHUP, SIG_IGN);  // a shell and the kernel may both send it
  });
}

void forget_ctrl_c() {
  set_action(SIG_DFL);
  int ctrl_c = SIGINT;
  noted.compare_exchange_strong(ctrl_c, 0);
}

void obey_interrupt() { noted = 0; }

bool interrupted() { return noted != 0; }

void end_if_interrupted() {
  if (interrupted()) end_by(noted);
}

bool pipe_was_closed() { return errno == EPIPE; }

void end_by_closed_pipe() { end_by(SIGPIPE); }

void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], arguments.data());
}

const char* const kEndKeys = "Ctrl-D";

// The streams and terminals are like this from the start.
void prepare_streams() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

}  // namespace gpt2::cli
