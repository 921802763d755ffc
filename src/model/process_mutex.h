#pragma once

#include <atomic>
#include <thread>

#include "base/system/process.h"
#include "base/system/threads.h"

namespace gpt2 {

/// A mutex that a child process of fork() can lock even if a thread of its parent held it at the
/// fork. That thread does not exist in the child, so it would never unlock a std::mutex. Meets the
/// requirements of std::lock_guard.
class ProcessMutex {
 public:
  void lock() noexcept {
    const int self = process_id();
    for (int owner = 0; !owner_.compare_exchange_strong(owner, self, std::memory_order_acquire);) {
      if (owner == self) {
        wait_while(owner_, owner);
        owner = 0;
      }  // else a thread of the parent held it at the fork, and the next attempt takes it over
    }
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }

  void unlock() noexcept {
    thread_.store({}, std::memory_order_relaxed);
    // This is an exchange, not a store, so that it cannot be reordered after the check for waiting
    // threads in wake_one().
    owner_.exchange(0, std::memory_order_seq_cst);
    wake_one(owner_);
  }

  /// Whether the calling thread holds the mutex, so that it would wait for itself in lock().
  [[nodiscard]] bool is_held_by_caller() const noexcept {
    // After fork(), the child may have a thread with the id of the parent's thread that held it.
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id() &&
           owner_.load(std::memory_order_relaxed) == process_id();
  }

 private:
  std::atomic<int> owner_{0};  // the id of the process whose thread holds the mutex, or 0
  std::atomic<std::thread::id> thread_{};  // that thread, or none
};

}  // namespace gpt2
