#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "support/guarded_memory.h"
#include "tensor/float16.h"

// Shared parts of the kernel tests: all kernel tables of this machine, buffers that end at
// inaccessible memory, random numbers, and a literal implementation of the rules of kernels.h, one
// element at a time. These rules define the exact result: every table must match them bit for bit.

namespace kernel_test {

/// Returns the results of `in_use` (kernels or norm_kernels) for all instruction sets of this
/// machine.
template <class Table>
std::vector<const Table*> tables(const Table& (*in_use)() noexcept) {
  const std::string before(gpt2::isa_name());
  std::vector<const Table*> tables;
  for (const std::string& isa : gpt2::available_isas()) {
    gpt2::force_isa(isa);
    tables.push_back(&in_use());
  }
  gpt2::force_isa(before);
  return tables;
}

inline std::vector<const gpt2::NormKernels*> norm_tables() { return tables(gpt2::norm_kernels); }

inline std::vector<const gpt2::Kernels*> tables() { return tables(gpt2::kernels); }

/// A buffer of `size` elements that ends right before an inaccessible page, or `skew` bytes
/// earlier, so that the elements are not aligned.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t size, std::size_t skew = 0)
      : size_(size),
        memory_(size * sizeof(T) + skew),
        data_(memory_.end() - skew - size * sizeof(T)) {}
  explicit Guarded(const std::vector<T>& values, std::size_t skew = 0)
      : Guarded(values.size(), skew) {
    if (size_) std::memcpy(data_, values.data(), size_ * sizeof(T));
  }

  /// Not aligned for T if skew is not a multiple of its alignment. For kernels that take any
  /// address.
  void* address() { return data_; }
  T* data() { return reinterpret_cast<T*>(data_); }

 private:
  std::size_t size_;
  gpt2::test::GuardedMemory memory_;
  char* data_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::vector<float> normal(std::size_t n, float mean = 0.0f, float deviation = 1.0f) {
    std::normal_distribution<float> distribution(mean, deviation);
    std::vector<float> values(n);
    for (float& value : values) value = distribution(engine_);
    return values;
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

inline bool same_bits(const float* a, const float* b, std::size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof(float)) == 0;
}

/// Returns the distance between the two values in units in the last place of the exact one.
inline double ulps(float actual, double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::abs(static_cast<double>(actual) - exact) / std::ldexp(1.0, exponent - 23);
}

inline constexpr double kUnitRoundoff = 0x1p-24;

// -- The rules, literally -------------------------------------------------------------------------

template <class Lane>
Lane tree_sum(const Lane (&lane)[gpt2::kLanes]) {
  Lane sum[gpt2::kLanes];
  std::copy(std::begin(lane), std::end(lane), sum);
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sum[i] = sum[i] + sum[i + half];
  }
  return sum[0];
}

/// Returns the sum over k of x[k] w[k], by the rule for [k, n]. get(k) is w[k].
template <class Get>
float dot_kn(const float* x, std::size_t k, const Get& get) {
  float total = 0.0f;
  for (std::size_t begin = 0; begin < k; begin += gpt2::kChunk) {
    float sum = 0.0f;
    for (std::size_t i = begin; i < std::min(k, begin + gpt2::kChunk); ++i) {
      sum = std::fma(x[i], get(i), sum);
    }
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

/// Returns the same sum, by the rule for [n, k].
inline float dot_nk(const float* x, std::size_t k, const float* w) {
  float total[gpt2::kLanes] = {};
  for (std::size_t begin = 0; begin < k; begin += gpt2::kChunk) {
    float sum[gpt2::kLanes] = {};
    for (std::size_t i = begin; i < std::min(k, begin + gpt2::kChunk); ++i) {
      sum[i % gpt2::kLanes] = std::fma(x[i], w[i], sum[i % gpt2::kLanes]);
    }
    for (std::size_t lane = 0; lane < gpt2::kLanes; ++lane) {
      total[lane] = begin == 0 ? sum[lane] : total[lane] + sum[lane];
    }
  }
  return tree_sum(total);
}

}  // namespace kernel_test
