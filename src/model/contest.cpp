#include "model/contest.h"

#include <algorithm>

namespace gpt2 {

void Contest::end_timed(double seconds, std::size_t size) noexcept {
  if (!is_second_) {
    seconds_ = seconds;
    size_ = size;
    is_second_ = true;
    return;
  }
  is_second_ = false;
  if (size != size_) return;
  if (seconds <= 0.0 || seconds_ <= 0.0) return;  // the clock is too coarse
  ratios_[pairs_] = seconds / seconds_;
  // There is no state in between that a child process of fork() must not see.
  pairs_ = (pairs_ + 1) % kPairs;
  if (pairs_ != 0) return;
  const auto middle = ratios_.begin() + kPairs / 2;
  std::nth_element(ratios_.begin(), middle, ratios_.end());
  if (*middle < kWinning) {
    best_ = challenger();
    gain_ = best_ == 0 ? 1.0 : gain_ / *middle;
  } else if (challenger() == 0) {
    gain_ = *middle;
  }
  if (++tried_ < ways_) return;
  rest_ = best_ == first_ ? next_rest_ : kMinRest;
  next_rest_ = std::min(2 * rest_, kMaxRest);
  first_ = best_;
  tried_ = 1;
}

}  // namespace gpt2
