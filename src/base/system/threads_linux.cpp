#include "base/system/threads.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

namespace gpt2 {
namespace {

// Returns the size of a stack as this variable states it: a number and a unit, which is kilobytes
// if it is missing. 0 if it has no valid value.
std::size_t stack_size_in(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  char* unit = nullptr;
  const std::size_t number = std::strtoul(text, &unit, 10);
  while (*unit == ' ') ++unit;
  switch (std::tolower(static_cast<unsigned char>(*unit))) {
    case 'b': return number;
    case '\0':
    case 'k': return number << 10;
    case 'm': return number << 20;
    case 'g': return number << 30;
    default: return 0;
  }
}

// Returns the size of a stack of OpenMP's threads; GOMP_STACKSIZE is libgomp's own variable. 0: the
// default size of the system.
std::size_t openmp_stack_size() noexcept {
  const std::size_t size = stack_size_in("OMP_STACKSIZE");
  return size > 0 ? size : stack_size_in("GOMP_STACKSIZE");
}

// The attributes of a thread with such a stack.
class Attributes {
 public:
  Attributes() noexcept : valid_(pthread_attr_init(&attributes_) == 0) {
    // Like OpenMP, uses the default size if this one is too small.
    if (const std::size_t size = openmp_stack_size(); valid_ && size > 0) {
      pthread_attr_setstacksize(&attributes_, size);
    }
  }
  ~Attributes() {
    if (valid_) pthread_attr_destroy(&attributes_);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  // Returns nullptr, which stands for the default attributes, if the system has no memory.
  [[nodiscard]] const pthread_attr_t* get() const noexcept {
    return valid_ ? &attributes_ : nullptr;
  }

 private:
  pthread_attr_t attributes_;
  bool valid_;
};

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
  const Attributes attributes;
  const std::unique_ptr<Probe[]> probes(new (std::nothrow) Probe[count + 1]);
  if (probes == nullptr) return -1;
  std::atomic<bool> may_end{false};
  std::size_t started = 0;
  for (; started < count; ++started) {
    Probe& probe = probes[started];
    probe.may_end = &may_end;
    if (pthread_create(&probe.thread, attributes.get(), Probe::run, &probe) != 0) break;
  }
  may_end.store(true, std::memory_order_release);
  may_end.notify_all();
  for (std::size_t i = 0; i < started; ++i) probes[i].await_end();
  return static_cast<int>(started);
}

}  // namespace gpt2
