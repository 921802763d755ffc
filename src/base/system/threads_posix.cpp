#include "base/system/threads.h"

#include <signal.h>

namespace gpt2 {

void wait_while(const std::atomic<int>& number, int old) noexcept {
  number.wait(old, std::memory_order_acquire);
}

void wake_one(std::atomic<int>& number) noexcept { number.notify_one(); }
void wake_all(std::atomic<int>& number) noexcept { number.notify_all(); }

namespace {

// Blocks signals in this thread as long as the object lives. Threads that are started meanwhile
// inherit this.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) {
      sigdelset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &callers_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &callers_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t callers_;
};

}  // namespace

void start_without_signals(const std::function<void()>& start) {
  const SignalsBlocked blocked;
  start();
}

void set_default_float_state() noexcept { std::fesetenv(FE_DFL_ENV); }

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatState::~DefaultFloatState() { std::fesetenv(&callers_); }

}  // namespace gpt2
