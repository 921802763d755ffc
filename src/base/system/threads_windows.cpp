#include "base/system/threads.h"

#include <immintrin.h>
#include <windows.h>

namespace gpt2 {
namespace {

// The system may look for sleeping threads only after the number has changed for all of them.
void* changed(std::atomic<int>& number) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return &number;
}

}  // namespace

void wait_while(const std::atomic<int>& number, int old) noexcept {
  static_assert(sizeof number == sizeof old);
  void* const address = const_cast<std::atomic<int>*>(&number);
  while (number.load(std::memory_order_acquire) == old) {
    WaitOnAddress(address, &old, sizeof old, INFINITE);
  }
}

void wake_one(std::atomic<int>& number) noexcept { WakeByAddressSingle(changed(number)); }
void wake_all(std::atomic<int>& number) noexcept { WakeByAddressAll(changed(number)); }

// Windows has no signals that a thread could receive.
void start_without_signals(const std::function<void()>& start) { start(); }

namespace {

constexpr unsigned kDefaultVectorState = 0x1f80;  // rounds to nearest, keeps denormals, never traps

}  // namespace

// mingw's fesetenv never writes MXCSR, the register with the state of vector instructions.
void set_default_float_state() noexcept {
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kDefaultVectorState);
}

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  callers_.__mxcsr = _mm_getcsr();  // not used by mingw
  set_default_float_state();
}

DefaultFloatState::~DefaultFloatState() {
  std::fesetenv(&callers_);
  _mm_setcsr(callers_.__mxcsr);
}

// Windows does not limit the threads of a process, and takes memory for the stack of a thread only
// when the thread uses it.
int spare_threads(int wanted) noexcept { return wanted; }

}  // namespace gpt2
