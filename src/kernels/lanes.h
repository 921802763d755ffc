#pragma once

#include "kernels/kernels.h"

// What every vector header and every kernel shares: the stored number formats, and the loop that
// covers n elements in steps of kLanes with one partial step at the end, so that no kernel has a
// scalar tail.
//
// Everything here that can end up as a symbol is a template on Vec: its name tells the instruction
// set it was compiled for.

namespace gpt2 {

/// std::min would be a symbol that all instruction sets share.
[[gnu::always_inline]] constexpr inline std::size_t min(std::size_t a, std::size_t b) {
  return b < a ? b : a;
}

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
  std::size_t count;  ///< the first so many of the kLanes, 0 < count < kLanes
};

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

/// A number that the compiler knows.
template <std::size_t kValue>
struct Count {
  static constexpr std::size_t value = kValue;
};

/// Calls f(Count<c>{}), c being `count` or the nearest of 1 ... kMost.
template <std::size_t kMost, class F>
[[gnu::always_inline]] inline void with_count(std::size_t count, const F& f) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_count<kMost - 1>(count, f);
  }
  f(Count<kMost>{});
}

/// body(vecs, i, lanes) for n elements: kVecs steps at a time while so many are left, then one.
template <class Vec, std::size_t kVecs, class Body>
[[gnu::always_inline]] inline void for_each_vecs(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + kVecs * kLanes <= n; i += kVecs * kLanes) body(Count<kVecs>{}, i, Full{});
  for_each_vec<Vec>(n - i, [&](std::size_t j, auto lanes) { body(Count<1>{}, i + j, lanes); });
}

}  // namespace gpt2
