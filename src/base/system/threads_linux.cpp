#include "base/system/threads.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>

namespace gpt2 {
namespace {

// A thread that waits until it may end.
struct Probe {
  pthread_t thread;
  std::atomic<pid_t> id;
  const std::atomic<bool>* may_end;
  std::byte records[8192];  // not used: more memory than OpenMP takes to keep record of a thread

  static void* run(void* argument) noexcept {
    Probe& probe = *static_cast<Probe*>(argument);
    probe.id.store(gettid(), std::memory_order_relaxed);
    probe.may_end->wait(false, std::memory_order_acquire);
    return nullptr;
  }

  // Waits until the thread has ended and no longer counts against the limits of the system. It does
  // for a moment after pthread_join, until its id is gone.
  void await_end() noexcept {
    pthread_join(thread, nullptr);
    constexpr int kPatience = 10000;  // after that, a new thread may have the same id
    for (int i = 0; i < kPatience && tgkill(getpid(), id.load(std::memory_order_relaxed), 0) == 0;
         ++i) {
      std::this_thread::yield();
    }
  }
};

}  // namespace

int spare_threads(int wanted) noexcept {
  const auto count = static_cast<std::size_t>(wanted);
  const std::unique_ptr<Probe[]> probes(new (std::nothrow) Probe[count + 1]);
  if (probes == nullptr) return -1;
  std::atomic<bool> may_end{false};
  std::size_t started = 0;
  for (; started < count; ++started) {
    Probe& probe = probes[started];
    probe.may_end = &may_end;
    if (pthread_create(&probe.thread, nullptr, Probe::run, &probe) != 0) break;
  }
  may_end.store(true, std::memory_order_release);
  may_end.notify_all();
  for (std::size_t i = 0; i < started; ++i) probes[i].await_end();
  return static_cast<int>(started);
}

}  // namespace gpt2
