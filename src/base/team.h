#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace gpt2 {

/// Threads that share out the tasks of one step after another.
///
/// One thread, the caller, runs ordinary sequential code. Where that code calls for_each, the other
/// threads, the helpers, take tasks of that step too. A step is over when its tasks are done, not
/// when every helper has arrived: a helper that has lost its core takes no task, and nobody waits
/// for it. Until a helper has claimed a task it reads nothing but the team's own control words, and
/// a claimed task keeps its step open, so a late helper can never see data of another step.
///
/// A result does not depend on which thread computes it. Helpers compute in the default
/// floating-point state. One thread at a time may use a team.
///
///   Team team(4);
///   team.for_each(rows, [&](std::size_t row, int rank) { normalize(row, scratch[rank]); });
class Team {
 public:
  /// Starts `threads` - 1 helpers, or half of what the system lets it start, if those are fewer.
  /// threads >= 1.
  explicit Team(int threads);

  /// Ends the helpers. In a child process of fork(), where they do not exist, forgets them.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Threads that take tasks now, the caller's included.
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Lets `threads` of the team's threads, or all of them if there are fewer, take tasks from now
  /// on. threads >= 1.
  void resize(int threads) noexcept;

  /// Starts the helpers anew in a child process of fork(), which has inherited none; otherwise does
  /// nothing. To be called before the first step that a child may run.
  void restart_after_fork();

  /// Calls f(i, rank) for every i in [0, count), each on whichever thread is free, and returns when
  /// all are done: what they wrote is visible to the caller, and to all tasks of later steps.
  /// `rank` numbers the thread, from 0 (the caller) to one less than the constructor's `threads`: two
  /// tasks that run at the same time never have the same. f must not throw, and must not use the
  /// team.
  template <class F>
  void for_each(std::size_t count, const F& f) noexcept {
    if (size_ == 1 || count < 2 || count > kMaxTasks) {
      for (std::size_t i = 0; i < count; ++i) f(i, 0);
      return;
    }
    const auto call = [](const void* function, std::size_t i, int rank) {
      (*static_cast<const F*>(function))(i, rank);
    };
    run({call, &f}, count);
  }

  /// Calls f(begin, end, rank) for ranges that cover [0, count), each `grain` long except the last.
  template <class F>
  void for_ranges(std::size_t count, std::size_t grain, const F& f) noexcept {
    for_each((count + grain - 1) / grain, [&](std::size_t i, int rank) {
      const std::size_t begin = i * grain;
      f(begin, begin + grain < count ? begin + grain : count, rank);
    });
  }

 private:
  static constexpr std::size_t kMaxTasks = 0x7fffffff;

  struct Step {
    void (*call)(const void* function, std::size_t task, int rank) = nullptr;
    const void* function = nullptr;
  };
  class Board;

  void start(int threads);
  void keep_helpers(std::size_t count) noexcept;
  void forget_helpers() noexcept;
  void run(const Step& step, std::size_t count) noexcept;

  std::unique_ptr<Board> board_;
  std::unique_ptr<std::vector<std::thread>> helpers_;
  int wanted_;
  int size_ = 1;
  int process_ = 0;
};

}  // namespace gpt2
