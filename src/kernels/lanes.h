#pragma once

#include "kernels/kernels.h"

// What every vector header and every kernel shares: the stored number formats, and the loop that
// covers n elements in steps of kLanes with one partial step at the end, so that no kernel has a
// scalar tail.
//
// Everything here that can end up as a symbol is a template on Vec: its name tells the instruction
// set it was compiled for.

namespace gpt2 {

// Elements of weights as they lie in a file: little-endian and at any address.
struct F32 {
  unsigned char byte[4];
};
struct F16 {
  unsigned char byte[2];
};
struct BF16 {
  unsigned char byte[2];
};

struct Full {};
struct Partial {
  std::size_t count;
};  ///< the first `count` of the kLanes, 0 < count < kLanes

template <class Vec, class T>
[[gnu::always_inline]] inline Vec load(const T* p, Full, T = T{}) {
  return Vec::load(p);
}

/// Lanes past the end are `fill`.
template <class Vec, class T>
[[gnu::always_inline]] inline Vec load(const T* p, Partial lanes, T fill = T{}) {
  T buffer[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) buffer[i] = i < lanes.count ? p[i] : fill;
  return Vec::load(buffer);
}

template <class Vec>
[[gnu::always_inline]] inline void store(float* p, Vec v, Full) {
  v.store(p);
}

template <class Vec>
[[gnu::always_inline]] inline void store(float* p, Vec v, Partial lanes) {
  float buffer[kLanes];
  v.store(buffer);
  for (std::size_t i = 0; i < lanes.count; ++i) p[i] = buffer[i];
}

/// body(i, lanes) for i = 0, 16, 32 ... below n.
template <class Vec, class Body>
[[gnu::always_inline]] inline void for_each_vec(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, Full{});
  if (i < n) body(i, Partial{n - i});
}

template <std::size_t kValue>
struct Rows {
  static constexpr std::size_t value = kValue;
};

/// Calls f(Rows<r>{}) with the number of rows as a compile-time constant, 1 <= rows <= kMost.
template <std::size_t kMost, class F>
[[gnu::always_inline]] inline void with_rows(std::size_t rows, const F& f) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return with_rows<kMost - 1>(rows, f);
  }
  f(Rows<kMost>{});
}

}  // namespace gpt2
