#pragma once

#include "kernels/kernels.h"

// Definitions that all vector headers and kernels share: the number formats of stored weights, and
// the loops over n elements. Such a loop takes steps of kLanes elements and ends with one partial
// step, so that no kernel needs a scalar loop for the rest.
//
// Every function here that can become a symbol of an object file is a template on Vec, so that the
// symbol's name contains the instruction set that it was compiled for.

namespace gpt2 {

/// Replaces std::min, which could become a symbol that all instruction sets share: the linker keeps
/// one copy, and this copy may contain instructions that the CPU does not have.
[[gnu::always_inline]] constexpr inline std::size_t min(std::size_t a, std::size_t b) {
  return b < a ? b : a;
}

// Elements of weights as they lie in a file: little-endian, and at any address.
struct F32 {
  unsigned char byte[4];
};
struct F16 {
  unsigned char byte[2];
};
struct BF16 {
  unsigned char byte[2];
};

// The lanes that a load or a store affects: all of them, or the first `count`. Either is for code
// that is too long to be there twice.
struct Full {};
struct Partial {
  std::size_t count;  ///< 0 < count < kLanes
};
struct Either {
  std::size_t count;  ///< 0 < count <= kLanes
};

template <class Vec, class T>
[[gnu::always_inline]] inline Vec load(const T* p, Full, T = T{}) {
  return Vec::load(p);
}

/// Reads nothing past the first lanes.count elements; the other lanes become `fill`.
template <class Vec, class T>
[[gnu::always_inline]] inline Vec load(const T* p, Partial lanes, T fill = T{}) {
  T buffer[kLanes];
#pragma GCC unroll 1  // unrolled, these steps were a quarter of the code of all kernels
  for (std::size_t i = 0; i < kLanes; ++i) buffer[i] = i < lanes.count ? p[i] : fill;
  return Vec::load(buffer);
}

template <class Vec, class T>
[[gnu::always_inline]] inline Vec load(const T* p, Either lanes, T fill = T{}) {
  return lanes.count == kLanes ? Vec::load(p) : load<Vec>(p, Partial{lanes.count}, fill);
}

/// Returns v with zeros in the lanes that are not part of `lanes`.
template <class Vec>
[[gnu::always_inline]] inline Vec keep(Vec v, Full) {
  return v;
}
template <class Vec>
[[gnu::always_inline]] inline Vec keep(Vec v, Partial lanes) {
  typename Vec::Element buffer[kLanes];
  v.store(static_cast<void*>(buffer));
  return load<Vec>(buffer, lanes);
}

template <class Vec, class T>
[[gnu::always_inline]] inline void store(T* p, Vec v, Full) {
  v.store(p);
}

template <class Vec, class T>
[[gnu::always_inline]] inline void store(T* p, Vec v, Partial lanes) {
  T buffer[kLanes];
  v.store(buffer);
#pragma GCC unroll 1
  for (std::size_t i = 0; i < lanes.count; ++i) p[i] = buffer[i];
}

template <class Vec, class T>
[[gnu::always_inline]] inline void store(T* p, Vec v, Either lanes) {
  if (lanes.count == kLanes) return v.store(p);
  store(p, v, Partial{lanes.count});
}

/// Calls body(i, lanes) for i = 0, 16, 32 ... below n. The last call is partial if n is not a
/// multiple of kLanes.
template <class Vec, class Body>
[[gnu::always_inline]] inline void for_each_vec(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, Full{});
  if (i < n) body(i, Partial{n - i});
}

/// The same with one copy of a long body.
template <class Vec, class Body>
[[gnu::always_inline]] inline void for_each_vec_once(std::size_t n, const Body& body) {
  for (std::size_t i = 0; i < n; i += kLanes) body(i, Either{min(kLanes, n - i)});
}

/// A number that is known at compile time, passed as an argument.
template <std::size_t kValue>
struct Count {
  static constexpr std::size_t value = kValue;
};

/// Calls f(Count<c>{}), where c is `count` clamped to 1 ... kMax.
template <std::size_t kMax, class F>
[[gnu::always_inline]] inline void with_count(std::size_t count, const F& f) {
  if constexpr (kMax > 1) {
    if (count < kMax) return with_count<kMax - 1>(count, f);
  }
  f(Count<kMax>{});
}

/// Like for_each_vec, but calls body(Count<kVecs>{}, i, lanes) as long as kVecs whole steps are
/// left. Then it goes on with half as many, and in the end with body(Count<1>{}, i, lanes).
template <class Vec, std::size_t kVecs, class Body>
[[gnu::always_inline]] inline void for_each_vecs(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + kVecs * kLanes <= n; i += kVecs * kLanes) body(Count<kVecs>{}, i, Full{});
  if constexpr (kVecs > 1) {
    for_each_vecs<Vec, kVecs / 2>(
        n - i, [&](auto vecs, std::size_t j, auto lanes) { body(vecs, i + j, lanes); });
  } else if (i < n) {
    body(Count<1>{}, i, Partial{n - i});
  }
}

}  // namespace gpt2
