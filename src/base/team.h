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
/// One thread, the caller, runs ordinary sequential code. When that code calls for_each, the other
/// threads, called helpers, take tasks of that step as well. A step is over when its tasks are
/// done, not when every helper has arrived. A helper that has lost its core takes no task, so no
/// thread waits for it. Until a helper has claimed a task, it reads only the team's own control
/// words. A claimed task keeps its step open. Therefore a late helper can never see data of another
/// step.
///
/// A result does not depend on which thread computes it, and helpers compute in the default
/// floating-point state. Only one thread at a time may use a team.
///
///   Team team(4);
///   team.for_each(rows, [&](std::size_t row, int rank) { normalize(row, scratch[rank]); });
class Team {
 public:
  /// Starts `threads` - 1 helpers. If the system cannot start them all, keeps half of those that it
  /// did start. REQUIRES: threads >= 1.
  explicit Team(int threads);

  /// Ends the helpers. In a child process of fork(), the helpers do not exist, so this only
  /// abandons their handles.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Returns the number of threads that take tasks, including the caller's thread.
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Limits the number of threads that take tasks to `threads`. If the team has fewer threads, all
  /// of them take tasks. REQUIRES: threads >= 1.
  void resize(int threads) noexcept;

  /// In a child process of fork(), which inherits no threads, starts new helpers; otherwise does
  /// nothing. Call this before every step that may be the first one in a child process.
  void restart_after_fork();

  /// Calls f(i, rank) for every i in [0, count), each on any thread that is free, and returns when
  /// all calls have returned. Everything that the calls wrote is then visible to the caller and to
  /// all tasks of later steps. `rank` is the number of the thread: 0 for the caller, and at most
  /// threads - 1, where `threads` is the argument of the constructor. Two tasks that run at the
  /// same time never have the same rank. f must not throw and must not use the team.
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
