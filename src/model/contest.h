#pragma once

#include <array>
#include <cstddef>

namespace gpt2 {

/// Finds out which of a few ways to do the same work is the fastest, while the work is being done.
///
/// The best way so far meets one challenger at a time. The two take turns, so a machine that is
/// slower for a while slows both down. After kPairs pairs of runs, the challenger becomes the best
/// way if the median of the ratios of their times is less than kWinning. When all other ways have
/// been challengers, the next runs use the best way and are not timed. Then the challengers get
/// another chance, so that a wrong choice does not last. While the choice stays the same, these
/// rests grow from kMinRest to kMaxRest runs; if it changes, the next one is short again.
///
/// Not safe for use by several threads at once. Allocates nothing.
class Contest {
 public:
  static constexpr std::size_t kPairs = 7;
  static constexpr double kWinning = 0.97;
  static constexpr std::size_t kMinRest = 512;
  /// To challenge with each of four other ways takes 56 runs. If half of these are a fifth slower,
  /// that costs the time of one run in four hundred.
  static constexpr std::size_t kMaxRest = 2048;
  /// The first runs are not timed either, because their weights may not be in memory yet.
  static constexpr std::size_t kFirstRest = 16;

  /// Way 0 is the best one at first. REQUIRES: ways >= 1.
  explicit Contest(std::size_t ways) noexcept : ways_(ways) {}

  /// The way to use for the next run.
  [[nodiscard]] std::size_t way() const noexcept {
    return is_timed() && is_second_ ? challenger() : best_;
  }
  [[nodiscard]] std::size_t best() const noexcept { return best_; }

  /// How many times as fast as way 0 the best way is, according to the latest pairs of the two or,
  /// if there are none, to those that lead from one to the other.
  [[nodiscard]] double gain() const noexcept { return gain_; }

  /// Whether the caller must time the next run, and call end_timed() instead of end().
  [[nodiscard]] bool is_timed() const noexcept { return rest_ == 0 && ways_ > 1; }

  /// Ends a run.
  void end() noexcept {
    if (rest_ > 0) --rest_;
  }
  /// `size` says how much work the run was. A pair of different sizes does not count.
  void end_timed(double seconds, std::size_t size = 1) noexcept;

 private:
  [[nodiscard]] std::size_t challenger() const noexcept { return (first_ + tried_) % ways_; }

  std::size_t ways_;
  std::size_t best_ = 0;
  double gain_ = 1.0;
  std::size_t rest_ = kFirstRest;     // runs until the next challenges
  std::size_t next_rest_ = kMinRest;  // its length if the next challenges change nothing
  std::size_t first_ = 0;             // the best way when the challenges began
  std::size_t tried_ = 1;             // the number of the challenger
  std::size_t pairs_ = 0;             // how many pairs have been timed
  bool is_second_ = false;            // whether the next run is the second of a pair
  double seconds_ = 0.0;              // the time of the first
  std::size_t size_ = 0;              // its size
  std::array<double, kPairs> ratios_ = {};
};

}  // namespace gpt2
