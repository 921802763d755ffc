#pragma once

#include <algorithm>
#include <chrono>

namespace gpt2 {

/// Whether one thread is faster than several, found out by the clock: where other programs keep the
/// cores busy, threads wait for one another for many times as long as they work.
class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Whether the next pass is to be made by one thread: the second pass is, for comparison, and
  /// after a pass of several that took longer 1, 2, 4 ... 64 are, until several are faster again.
  [[nodiscard]] bool next_is_alone() noexcept { return left_ > 0 && left_-- > 0; }

  /// Tells what a pass took.
  void took(bool alone, Duration time) noexcept {
    if (alone) {
      alone_ = time;
    } else if (alone_ == Duration::zero()) {
      left_ = 1;
    } else if (time > alone_) {
      left_ = patience_;
      patience_ = std::min(2 * patience_, 64);
    } else {
      patience_ = 1;
    }
  }

 private:
  Duration alone_ = Duration::zero();  // the last pass of one thread
  int left_ = 0;                       // passes that one thread is to make
  int patience_ = 1;
};

}  // namespace gpt2
