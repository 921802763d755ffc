#pragma once

#include <atomic>
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/team.h"

namespace gpt2 {

/// An amount of work, or the work that is done in a second. A multiply-add counts as two
/// operations.
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
  /// The time that measure() takes, approximately.
  static constexpr double kSeconds = 0.3;

  /// `bytes` is the number of bytes that one pass of the measured work reads. measure() reads a
  /// buffer of this size repeatedly. If the buffer fits in a cache, the result is the limit of the
  /// cache, not of the memory.
  LimitMeter(int threads, std::size_t bytes);

  /// Returns the most work that the threads can do in a second.
  [[nodiscard]] Work measure();

 private:
  Team team_;
  AlignedBuffer<float> memory_;
  std::atomic<std::size_t> next_ = 0;  // the next piece of memory_ to read
};

}  // namespace gpt2
