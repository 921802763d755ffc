#pragma once

#include <atomic>
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/team.h"

namespace gpt2::cli {

/// What there is to do, or what is done in a second.
struct Work {
  double bytes;          ///< read from memory
  double multiply_adds;  ///< in f32
  double byte_products;  ///< multiply-adds of 8-bit integers
};

/// Measures what a number of threads can do on this machine, again and again: a shared machine's
/// bandwidth drifts from second to second, so that a measurement is worth most beside what it is
/// compared with.
class LimitMeter {
 public:
  /// `bytes`: what one pass of the work to be compared reads. The limit of reading is that of so
  /// much memory, read part by part, over and over: where it fits in a cache, the cache's.
  LimitMeter(int threads, std::size_t bytes);
  [[nodiscard]] Work measure();  ///< a second's

 private:
  Team team_;
  AlignedBuffer<float> memory_;
  std::atomic<std::size_t> next_ = 0;  // piece of it
};

}  // namespace gpt2::cli
