#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace gpt2 {

/// The threads of one parallel region, each running the same function with its own Team.
///
/// Work is shared out by output: which thread computes an element never shows in its value.
class Team {
 public:
  /// What the threads of a region have in common.
  struct Shared {
    static constexpr std::size_t kCounters = 3;
    alignas(64) std::atomic<std::size_t> next[kCounters] = {};
    alignas(64) std::atomic<int> arrived{0};
    alignas(64) std::atomic<unsigned> phase{0};
  };

  Team(Shared& shared, int rank, int size) : shared_(shared), rank_(rank), size_(size) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Returns once every thread has come here; what each wrote before, all see after.
  void barrier() noexcept;

  /// Calls f(i) for every i in [0, count), each on whichever thread is free, and ends with a
  /// barrier. Every thread of the team must make the same calls in the same order.
  template <class F>
  void for_each(std::size_t count, const F& f) {
    if (size_ == 1) {
      for (std::size_t i = 0; i < count; ++i) f(i);
      return;
    }
    std::atomic<std::size_t>& next = shared_.next[turn_ % Shared::kCounters];
    // The counter after this one was last used two barriers ago: nobody looks at it now.
    ++turn_;
    if (rank_ == 0) shared_.next[turn_ % Shared::kCounters].store(0, std::memory_order_relaxed);
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) f(i);
    barrier();
  }

  /// Calls f(begin, end) for ranges that cover [0, count), each `grain` long but the last.
  template <class F>
  void for_ranges(std::size_t count, std::size_t grain, const F& f) {
    for_each((count + grain - 1) / grain, [&](std::size_t i) {
      const std::size_t begin = i * grain;
      f(begin, begin + grain < count ? begin + grain : count);
    });
  }

 private:
  Shared& shared_;
  int rank_;
  int size_;
  std::size_t turn_ = 0;
};

/// Runs body(team) on `threads` threads, or as many of them as can start, and returns when all have
/// ended. body must not throw. May be called from several threads at once.
void parallel(int threads, const std::function<void(Team& team)>& body);

}  // namespace gpt2
