#pragma once

#include <atomic>
#include <cfenv>
#include <functional>

namespace gpt2 {

// Threads that sleep until a number changes. These are wait(), notify_one() and notify_all() of
// std::atomic, which lose notifications in GCC's library on Windows: its wait() compares the number
// before it locks the mutex of its condition variable, and its notify_all() does not lock it (seen
// in GCC 12). A thread that misses the last notification sleeps forever.

/// Sleeps while `number` is `old`. When this returns, what happened before the store of the other
/// value is visible, if that store was a release.
void wait_while(const std::atomic<int>& number, int old) noexcept;

/// Wakes one thread, or all threads, that sleep on `number`. REQUIRES: it has changed.
void wake_one(std::atomic<int>& number) noexcept;
void wake_all(std::atomic<int>& number) noexcept;

/// Calls `start`, which starts threads. They do not receive the signals that are sent to the
/// process, so that only the threads of the host program do. Throws what `start` throws.
///
/// The threads still receive signals that they cause themselves, such as SIGSEGV, and SIGPROF,
/// which profilers use.
void start_without_signals(const std::function<void()>& start);

/// Returns how many further threads this process can run at the same time, up to `wanted`, with the
/// stacks that OpenMP gives its threads. Finds out by starting that many threads and ending them:
/// when this returns, the system has taken back all that they used. Returns -1 if there is not even
/// memory for a parallel region without further threads. REQUIRES: wanted >= 0.
///
/// OpenMP ends the process if it cannot start a thread of a parallel region. Therefore a region
/// must not ask for more threads than this function has found, and for far fewer if possible,
/// because the rest of the process, and other processes, may start threads meanwhile. Call this on
/// the thread that opens the region, so that the memory which it found free is that thread's.
[[nodiscard]] int spare_threads(int wanted) noexcept;

void set_default_float_state() noexcept;

/// Sets the floating-point state of the current thread to the default. The destructor restores the
/// previous state.
///
/// A host program, such as an audio plug-in, may have set flush-to-zero, denormals-are-zero or
/// another rounding mode for its threads. The same arithmetic would then give different bits.
/// Therefore every public function that computes creates one of these objects.
class DefaultFloatState {
 public:
  DefaultFloatState() noexcept;
  ~DefaultFloatState();
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace gpt2
