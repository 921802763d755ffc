#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"

namespace gpt2::cli {

/// What a number of threads reach on this machine, now.
struct Limits {
  double read_bytes = 0.0;     ///< a second, from memory
  double multiply_adds = 0.0;  ///< f32, a second
  double byte_products = 0.0;  ///< multiply-adds of 8-bit integers, a second
};

/// Measures the limits, again and again: a shared machine's bandwidth drifts from second to second,
/// so that a measurement is worth most beside what it is compared with.
class LimitMeter {
 public:
  /// `bytes`: what one pass of the work to be compared reads. The limit of reading is that of so
  /// much memory, read over and over: where it fits in a cache, the cache's.
  LimitMeter(int threads, std::size_t bytes);
  [[nodiscard]] Limits measure();

 private:
  int threads_;
  AlignedBuffer<float> memory_;
};

}  // namespace gpt2::cli
