#include "base/contest.h"

#include <algorithm>

namespace gpt2 {

void Contest::end_timed(double seconds) noexcept {
  if (!is_second_) {
    seconds_ = seconds;
    is_second_ = true;
    return;
  }
  is_second_ = false;
  ratios_[pairs_++] = seconds / seconds_;
  if (pairs_ < kPairs) return;
  pairs_ = 0;
  const auto middle = ratios_.begin() + kPairs / 2;
  std::nth_element(ratios_.begin(), middle, ratios_.end());
  if (*middle < kWinning) {
    best_ = challenger();
    gain_ = best_ == 0 ? 1.0 : gain_ / *middle;
  }
  if (++tried_ < ways_) return;
  first_ = best_;
  tried_ = 1;
  rest_ = kRest;
}

}  // namespace gpt2
