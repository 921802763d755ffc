#pragma once

#include <atomic>
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/team.h"

namespace gpt2::cli {

/// What there is to do, or what is done in a second. A multiply-add counts as two operations.
struct Work {
  double bytes = 0.0;     ///< read from memory
  double flop = 0.0;      ///< operations in f32
  double int8_ops = 0.0;  ///< operations on 8-bit integers
};

/// Measures what a number of threads can do on this machine, again and again: the speed of a shared
/// machine drifts from second to second, so that a limit is worth most right beside the work that
/// is compared with it.
class LimitMeter {
 public:
  /// What measure() takes.
  static constexpr double kSeconds = 0.3;

  /// `bytes`: what one pass of the work to be compared reads. The limit of reading is that of so
  /// much memory, read part by part, over and over; if it fits in a cache, the cache's.
  LimitMeter(int threads, std::size_t bytes);
  [[nodiscard]] Work measure();  ///< a second's

 private:
  Team team_;
  AlignedBuffer<float> memory_;
  std::atomic<std::size_t> next_ = 0;  // piece of it
};

}  // namespace gpt2::cli
