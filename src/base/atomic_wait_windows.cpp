#include "base/atomic_wait.h"

#include <windows.h>

namespace gpt2 {
namespace {

template <class T>
void sleep_while(const std::atomic<T>& number, T old) noexcept {
  static_assert(sizeof number == sizeof old);
  void* const address = const_cast<std::atomic<T>*>(&number);
  while (number.load(std::memory_order_acquire) == old) {
    WaitOnAddress(address, &old, sizeof old, INFINITE);
  }
}

// The system may look for sleeping threads only after the number has changed for all of them.
template <class T>
void* changed(std::atomic<T>& number) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return &number;
}

}  // namespace

void wait_while(const std::atomic<int>& number, int old) noexcept { sleep_while(number, old); }

void wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept {
  sleep_while(number, old);
}

void wake_one(std::atomic<int>& number) noexcept { WakeByAddressSingle(changed(number)); }
void wake_one(std::atomic<std::uint32_t>& number) noexcept { WakeByAddressSingle(changed(number)); }
void wake_all(std::atomic<int>& number) noexcept { WakeByAddressAll(changed(number)); }
void wake_all(std::atomic<std::uint32_t>& number) noexcept { WakeByAddressAll(changed(number)); }

}  // namespace gpt2
