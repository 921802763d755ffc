#pragma once

#include <cstddef>
#include <memory>
#include <thread>

namespace gpt2 {

/// Returns the number of physical cores that the process may use, at least 1. Determined once, at
/// the first call. Unlike thread_count(), does not depend on OMP_NUM_THREADS: if a team has more
/// threads than this, they take turns on the cores.
[[nodiscard]] int core_count();

/// Threads that share out the tasks of one step after another.
///
/// One thread, the caller, runs ordinary sequential code. When that code calls for_each, the other
/// threads, called helpers, take tasks of that step as well. A step is over when its tasks are
/// done, not when every helper has arrived. A helper that has lost its core takes no task, so no
/// thread waits for it. Until a helper has claimed a task, it reads only the team's own control
/// words. A claimed task keeps its step open. Therefore a late helper can never see data of another
/// step.
///
/// OpenMP starts, counts and places the helpers: they are the threads of one parallel region, which
/// lasts as long as the team. OpenMP's own barriers make every thread wait for all others, so the
/// steps do not use them. The caller never enters the region, because it returns to its program
/// after each step. Another thread, the host, opens the region in its stead and is the first
/// helper. So it makes no difference whether the caller itself is in a parallel region of its
/// program.
///
/// If OMP_PLACES or OMP_PROC_BIND makes OpenMP bind threads to places, the host is thread 0 of the
/// region and therefore bound to the first place, where the caller is, too. Then the host is not a
/// helper, but sleeps, and helper i is OpenMP's thread i.
///
/// A result does not depend on which thread computes it, and helpers compute in the default
/// floating-point state. Only one thread at a time may use a team.
///
///   Team team(4);
///   team.for_each(rows, [&](std::size_t row, int rank) { normalize(row, scratch[rank]); });
class Team {
 public:
  /// Starts `threads` - 1 helpers, or fewer: as many as OpenMP's variables allow, and at most half
  /// as many as the system can start, because the rest of the program needs threads, too. Does not
  /// wait for the helpers, which take part as soon as they run. REQUIRES: threads >= 1.
  explicit Team(int threads);

  /// Ends the helpers. In a child process of fork(), the helpers do not exist, so this only
  /// abandons the handle of the host.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Waits until the helpers have been started, and lets all of them take tasks.
  void await_helpers() noexcept;

  /// Returns the number of threads that take tasks, including the caller's thread. resize() and
  /// await_helpers() adjust it to the number of helpers that have been started.
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

  void start();
  void run(const Step& step, std::size_t count) noexcept;

  std::unique_ptr<Board> board_;
  std::unique_ptr<std::thread> host_;
  int wanted_;  // the argument of the constructor
  int size_;
  int process_ = 0;
};

}  // namespace gpt2
