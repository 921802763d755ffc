#include "cli/system/interrupts.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace gpt2::cli {
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

void let_writes_fail() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

bool pipe_was_closed() { return errno == EPIPE; }

void end_by_closed_pipe() { end_by(SIGPIPE); }

}  // namespace gpt2::cli
