#include "cli/console.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/quote.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler sets it");

}  // namespace

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::invalid_argument,
                std::string("cannot write to standard output: ") + std::strerror(errno));
  }
}

std::string read_stdin() {
  constexpr std::size_t kLimit = std::size_t{256} << 20;
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, count);
    if (text.size() > kLimit) {
      throw Error(ErrorCode::invalid_argument, "standard input is longer than 256 MiB: divide it");
    }
  }
  if (std::ferror(stdin)) {
    throw Error(ErrorCode::invalid_argument,
                std::string("cannot read standard input: ") + std::strerror(errno));
  }
  return text;
}

bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

void print_error(std::string_view message) {
  const std::string line = "gpt2: " + printable(message) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void note_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { noted = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int interrupt_status() { return noted == 0 ? 0 : 128 + noted; }

Progress::Progress(std::string_view what) {
  if (isatty(STDERR_FILENO) == 0) return;
  thread_ = std::jthread([what = printable(what)](std::stop_token stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any stopped;
    const auto never = [] { return false; };
    stopped.wait_for(lock, stop, std::chrono::seconds(1), never);
    if (stop.stop_requested()) return;
    std::fprintf(stderr, "%s ...", what.c_str());
    stopped.wait(lock, stop, never);
    std::fputs("\r\x1b[K", stderr);
  });
}

void Progress::done() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace gpt2::cli
