#pragma once

#include <atomic>
#include <cstdint>

namespace gpt2 {

// Threads that sleep until a number changes. These are wait(), notify_one() and notify_all() of
// std::atomic, which lose notifications in GCC's library on Windows: its wait() compares the number
// before it locks the mutex of its condition variable, and its notify_all() does not lock it (seen
// in GCC 12). A thread that misses the last notification sleeps forever.

/// Sleeps while `number` is `old`. When this returns, what happened before the store of the other
/// value is visible, if that store was a release.
void wait_while(const std::atomic<int>& number, int old) noexcept;
void wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept;

/// Wakes one thread, or all threads, that sleep on `number`. REQUIRES: it has changed.
void wake_one(std::atomic<int>& number) noexcept;
void wake_one(std::atomic<std::uint32_t>& number) noexcept;
void wake_all(std::atomic<int>& number) noexcept;
void wake_all(std::atomic<std::uint32_t>& number) noexcept;

}  // namespace gpt2
