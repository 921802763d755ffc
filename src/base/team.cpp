#include "base/team.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

#include "base/system/process.h"
#include "base/system/threads.h"

namespace gpt2 {
namespace {

void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls `is_over` for the time `patience`, because most waits are shorter than the time that it
// takes to go to sleep and be woken. Returns whether `is_over` became true. If there are more
// threads than cores (`has_core` is false), this thread yields its core between polls, because the
// thread that it waits for may need that core.
template <class Condition>
bool spin_until(std::chrono::microseconds patience, bool has_core, const Condition& is_over) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPollsPerClock = 16;
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    for (int i = 0; i < kPollsPerClock; ++i) {
      if (is_over()) return true;
      pause_core();
    }
    if (!has_core) std::this_thread::yield();
  }
  return is_over();
}

// How long the threads of a team poll before they go to sleep. The caller's thread updates it, and
// all threads use it.
//
// On a quiet machine, nearly every wait is shorter than kCalm, and waking a thread takes longer
// than most waits. Polling for only 50 us makes a prompt of 16 tokens a third slower.
//
// A wait longer than kCalm means that another program has taken a core. A thread that polls then
// keeps its core from threads that have work. Therefore all threads poll only for kHurried during
// the next steps. This penalty lasts 64 steps after the first long wait, and four times as many
// after each further one, up to kMaxPenalty. After a penalty comes a probation, which lasts as many
// steps as the next penalty would. If no long wait occurs in that time, the next penalty is reset
// to 64 steps.
class Patience {
 public:
  [[nodiscard]] std::chrono::microseconds now() const noexcept {
    return is_hurried_.load(std::memory_order_relaxed) ? kHurried : kCalm;
  }

  void begin_step() noexcept {
    if (hurried_steps_ > 0) {
      if (--hurried_steps_ > 0) return;
      is_hurried_.store(false, std::memory_order_relaxed);
      probation_steps_ = penalty_;
    } else if (probation_steps_ > 0 && --probation_steps_ == 0) {
      penalty_ = kMinPenalty;
    }
  }

  void note_long_wait() noexcept {
    if (hurried_steps_ > 0) return;
    is_hurried_.store(true, std::memory_order_relaxed);
    hurried_steps_ = penalty_;
    penalty_ = std::min(4 * penalty_, kMaxPenalty);
  }

 private:
  static constexpr std::chrono::microseconds kCalm{500};
  static constexpr std::chrono::microseconds kHurried{20};
  static constexpr int kMinPenalty = 64;
  static constexpr int kMaxPenalty = 16384;

  std::atomic<bool> is_hurried_{false};  // hurried_steps_ > 0, for the helpers to read
  int hurried_steps_ = 0;                // how many of the next steps still use kHurried
  int probation_steps_ = 0;              // steps without a long wait until the penalty is reset
  int penalty_ = kMinPenalty;            // how many steps use kHurried after the next long wait
};

}  // namespace

/// The state that the threads of a team share.
class Team::Board {
 public:
  // Opens the parallel region of a team of up to `threads` threads and returns when it ends, after
  // dismiss(). Runs on the host thread. `cores` is core_count().
  void host(int threads, int cores) noexcept {
    set_default_float_state();
    const int host_rank = omp_get_num_places() > 0 ? 0 : 1;
    const int wanted = std::min(threads, omp_get_thread_limit()) - host_rank - 1;
    if (wanted < 0) return note_size(1);
    const int spare = spare_threads(2 * wanted);
    if (spare < 0) return note_size(1);
#pragma omp parallel num_threads(std::min(wanted, spare / 2) + 1)
    {
      const int rank = omp_get_thread_num() + host_rank;
      const int size = omp_get_num_threads() + host_rank;
      if (rank == host_rank) note_size(size);
      if (rank > 0) {
        set_default_float_state();
        help(rank, size <= cores);
        left_.fetch_add(1, std::memory_order_release);
      } else {
        // Sleeps here, and not in the barrier at the end of the region, where OpenMP would poll for
        // as long as OMP_WAIT_POLICY says.
        wait_while(is_dismissed_, 0);
      }
    }
    // OpenMP's barrier makes everything that the helpers did happen before this point. This load
    // does so, too, for ThreadSanitizer, which cannot see what OpenMP does.
    static_cast<void>(left_.load(std::memory_order_acquire));
  }

  // Returns the number of threads that the team has, including the caller, or 0 if the region has
  // not been opened yet.
  [[nodiscard]] int started() const noexcept { return started_.load(std::memory_order_acquire); }
  void note_size(int threads) noexcept {
    started_.store(threads, std::memory_order_release);
    wake_all(started_);
  }
  void await_region() const noexcept { wait_while(started_, 0); }

  // Opens a step: helpers may claim its tasks from now on.
  void open(const Step& step, std::size_t count) noexcept {
    step_ = step;
    done_.store(0, std::memory_order_relaxed);
    claims_.store(std::uint64_t{count} << 32, std::memory_order_release);
    opened_.fetch_add(1, std::memory_order_release);
    wake_all(opened_);
    patience_.begin_step();
  }

  // Claims and runs tasks of the open step until none is left.
  void work(int rank) noexcept {
    int finished = 0;
    int count = 0;
    while (has_tasks(claims_.load(std::memory_order_relaxed))) {
      // This acquire synchronizes with the release store of claims_ in open(), directly or through
      // the claims of other threads, so that step_ is visible. After the load above, other threads
      // may have claimed the last tasks of the step. Then this claim is void. But if the next step
      // has been opened meanwhile, this is a valid claim of a task of that step.
      const std::uint64_t claim = claims_.fetch_add(1, std::memory_order_acquire);
      if (!has_tasks(claim)) break;
      count = static_cast<int>(claim >> 32);
      step_.call(step_.function, static_cast<std::uint32_t>(claim), rank);
      ++finished;
    }
    // The step stays open until all its tasks are reported here, so that step_ and everything that
    // it refers to remain valid until then.
    if (finished == 0) return;
    const int done = done_.fetch_add(finished, std::memory_order_acq_rel) + finished;
    if (done == count && rank != 0) wake_one(done_);
  }

  // Returns when all tasks of the open step are done.
  void wait(int count, bool has_core) noexcept {
    const auto is_over = [&] { return done_.load(std::memory_order_acquire) == count; };
    if (is_over() || spin_until(patience_.now(), has_core, is_over)) return;
    patience_.note_long_wait();
    for (int done; (done = done_.load(std::memory_order_acquire)) != count;) {
      wait_while(done_, done);
    }
  }

  void resize(int size) noexcept {
    if (size_.exchange(size, std::memory_order_release) != size) wake_all(size_);
  }

  // Ends the parallel region: makes all helpers return from help().
  void dismiss() noexcept {
    is_dismissed_.store(1, std::memory_order_release);
    wake_one(is_dismissed_);
    resize(std::numeric_limits<int>::max());
    opened_.fetch_add(1, std::memory_order_release);
    wake_all(opened_);
  }

 private:
  // Runs a helper thread until it is dismissed.
  void help(int rank, bool has_core) noexcept {
    for (;;) {
      // This must be read before everything else. If a step is opened or the helpers are dismissed
      // after this load, opened_ changes, so that the wait below ends at once.
      const int opened = opened_.load(std::memory_order_acquire);
      if (is_dismissed_.load(std::memory_order_acquire) != 0) return;
      if (const int size = size_.load(std::memory_order_acquire); rank >= size) {
        wait_while(size_, size);
        continue;
      }
      work(rank);
      const auto is_over = [&] { return opened_.load(std::memory_order_relaxed) != opened; };
      if (!spin_until(patience_.now(), has_core, is_over)) {
        wait_while(opened_, opened);
      }
    }
  }

  // Returns whether there are tasks left to claim. The upper half of `claims` is the number of
  // tasks of the step, and the lower half is the next task to claim. A void claim increments the
  // lower half, too. Each thread makes at most one void claim in a step, so the lower half never
  // overflows.
  static bool has_tasks(std::uint64_t claims) noexcept {
    return static_cast<std::uint32_t>(claims) < claims >> 32;
  }

  alignas(64) std::atomic<std::uint64_t> claims_{0};
  Step step_;
  std::atomic<int> opened_{0};  // counts steps and dismissals; helpers sleep until it changes
  alignas(64) std::atomic<int> done_{0};
  Patience patience_;
  alignas(64) std::atomic<int> size_{1};  // helpers of this rank and above sleep until it changes
  std::atomic<int> is_dismissed_{0};      // 0 or 1: the system can put threads to sleep on an int
  std::atomic<int> started_{0};           // see started()
  std::atomic<int> left_{0};              // how many helpers have returned from help()
};

Team::Team(int threads) : wanted_(threads), size_(threads) { start(); }

Team::~Team() {
  if (!host_) return;
  if (process_ != process_id()) {
    // The host does not exist in this process, and its handle may already refer to another thread.
    // Therefore the handle must not be used, and not even destroyed.
    static_cast<void>(host_.release());
    return;
  }
  board_->dismiss();
  host_->join();
}

void Team::start() {
  board_ = std::make_unique<Board>();
  process_ = process_id();
  if (wanted_ > 1) {
    const int cores = core_count();
    try {
      start_without_signals([&] {
        host_ = std::make_unique<std::thread>(
            [board = board_.get(), threads = wanted_, cores] { board->host(threads, cores); });
      });
    } catch (const std::exception&) {
      // The system has no memory for another thread, or allows no more threads. The team consists
      // of the caller.
      board_->note_size(1);
    }
  }
  resize(wanted_);
}

void Team::await_helpers() noexcept {
  if (wanted_ > 1) board_->await_region();
  resize(wanted_);
}

// Nothing of the parent's region is left in this process, and OpenMP keeps its records of a region
// in the thread that opened it. So a new host finds OpenMP as if no region had been opened yet.
void Team::restart_after_fork() {
  if (process_ == process_id()) return;
  static_cast<void>(host_.release());
  start();
}

void Team::resize(int threads) noexcept {
  const int started = board_->started();
  size_ = std::min(threads, started > 0 ? started : wanted_);
  board_->resize(size_);
}

void Team::run(const Step& step, std::size_t count) noexcept {
  board_->open(step, count);
  board_->work(0);
  board_->wait(static_cast<int>(count), size_ <= core_count());
}

}  // namespace gpt2
