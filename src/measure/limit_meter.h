#pragma once

#include <atomic>
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/team.h"

namespace gpt2 {

/// What there is to do, or what is done in a second. A multiply-add counts as two operations.
struct Work {
  double bytes = 0.0;     ///< read from memory
  double flop = 0.0;      ///< operations in f32
  double int8_ops = 0.0;  ///< operations on 8-bit integers
};

/// Measures what a number of threads can do on this machine. The speed of a shared machine drifts
/// from second to second, so a limit should be measured right before and after the work that is
/// compared with it.
class LimitMeter {
 public:
  /// The time that measure() takes.
  static constexpr double kSeconds = 0.3;

  /// `bytes` is what one pass of the work to be compared reads. The limit of reading is measured on
  /// that much memory, part by part, over and over. If it fits in a cache, it is the cache's limit.
  LimitMeter(int threads, std::size_t bytes);

  /// What the threads do in a second, at best.
  [[nodiscard]] Work measure();

 private:
  Team team_;
  AlignedBuffer<float> memory_;
  std::atomic<std::size_t> next_ = 0;  // the next piece of memory_ to read
};

}  // namespace gpt2
