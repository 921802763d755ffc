#pragma once

#include "base/aligned_buffer.h"

namespace gpt2::cli {

/// What a number of threads reach on this machine, now.
struct Limits {
  double read_bytes = 0.0;    ///< a second, from memory
  double multiply_adds = 0.0; ///< f32, a second
  double byte_products = 0.0; ///< multiply-adds of 8-bit integers, a second
};

/// Measures the limits, again and again: a shared machine's bandwidth drifts from second to second, so
/// that a measurement is worth most beside what it is compared with. Takes about 40 ms each time.
class LimitMeter {
 public:
  explicit LimitMeter(int threads);
  [[nodiscard]] Limits measure();

 private:
  int threads_;
  AlignedBuffer<float> memory_;  // larger than any cache
};

}  // namespace gpt2::cli
