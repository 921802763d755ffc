#include "base/atomic_wait.h"

namespace gpt2 {

void wait_while(const std::atomic<int>& number, int old) noexcept {
  number.wait(old, std::memory_order_acquire);
}

void wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept {
  number.wait(old, std::memory_order_acquire);
}

void wake_one(std::atomic<int>& number) noexcept { number.notify_one(); }
void wake_one(std::atomic<std::uint32_t>& number) noexcept { number.notify_one(); }
void wake_all(std::atomic<int>& number) noexcept { number.notify_all(); }
void wake_all(std::atomic<std::uint32_t>& number) noexcept { number.notify_all(); }

}  // namespace gpt2
