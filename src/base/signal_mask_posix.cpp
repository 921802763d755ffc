#include <signal.h>

#include "base/signal_mask.h"

namespace gpt2 {
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

}  // namespace gpt2
