#pragma once

#include "kernels/lanes.h"

// The vector that all kernels compute with: sixteen lanes, in as many registers as the instruction
// set needs for them. The compiler's vector types have operators for most operations. An Isa adds
// the other operations and the tile sizes that suit the instruction set; vec_scalar.h describes the
// members of an Isa.

namespace gpt2 {

template <std::size_t kBytes>
struct Registers {
  template <class Lane>
  using Register [[gnu::vector_size(kBytes)]] = Lane;
  using Float = Register<float>;
  using Double = Register<double>;
  using Int = Register<std::uint32_t>;
  using Signed = Register<std::int32_t>;
  static constexpr bool kPrefetches = true;  ///< whether the instruction set has prefetches
};

/// Sixteen lanes of float, double or std::uint32_t. Integer arithmetic wraps around.
template <class Isa, class Lane>
struct Sixteen : Isa {
  using Register = typename Isa::template Register<Lane>;
  using Element = Lane;
  using Integer = Sixteen<Isa, std::uint32_t>;
  using Wide = Sixteen<Isa, double>;
  static constexpr std::size_t kRegisters = kLanes * sizeof(Lane) / sizeof(Register);

  Register part[kRegisters];

  Sixteen() = default;
  /// Sets all lanes to `value`. This subtracts zeros, because adding them would turn -0 into 0.
  [[gnu::always_inline]] Sixteen(Lane value)
      : Sixteen(of([&](std::size_t) { return value - Register{}; })) {}
  template <class... Rest>
  [[gnu::always_inline]] Sixteen(Register first, Rest... rest) : part{first, rest...} {}

  /// Returns the vector with part[i] = f(i).
  template <class F>
  [[gnu::always_inline]] static Sixteen of(const F& f) {
    // There is no loop here, because GCC does not reliably inline and unroll one.
    if constexpr (kRegisters == 1) return {f(0)};
    if constexpr (kRegisters == 2) return {f(0), f(1)};
    if constexpr (kRegisters == 4) return {f(0), f(1), f(2), f(3)};
    if constexpr (kRegisters == 8) return {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)};
  }

  /// Returns a vector with the 4 bytes at p in every lane.
  [[gnu::always_inline]] static Sixteen broadcast_bytes(const std::int8_t* p) {
    Lane four;
    __builtin_memcpy(&four, p, 4);
    return four;
  }
  /// Returns the initial value of a block's sum of dot products. If dot() does not subtract 128
  /// from the codes, this is the offset that compensates for it; see QuantizedRows::offset.
  [[gnu::always_inline]] static Sixteen sum_from(std::int32_t offset) {
    return Isa::kSignedCodes ? 0 : static_cast<Lane>(offset);
  }

  /// A register as it lies in memory, at any address.
  struct [[gnu::packed, gnu::may_alias]] InMemory {
    Register part;
  };
  [[gnu::always_inline]] static Sixteen load(const void* p) {
    return of([&](std::size_t i) { return static_cast<const InMemory*>(p)[i].part; });
  }
  /// Converts to f32 exactly, subnormals and infinities included.
  [[gnu::always_inline]] static Sixteen load(const F16* p) {
    return of([&](std::size_t i) { return Isa::widen(p, i); });
  }
  [[gnu::always_inline]] static Sixteen load(const BF16* p) {
    return of([&](std::size_t i) { return Isa::widen(p, i); });
  }
  [[gnu::always_inline]] void store(void* p) const {
    for (std::size_t i = 0; i < kRegisters; ++i) static_cast<InMemory*>(p)[i].part = part[i];
  }
  /// Rounds to nearest, ties to even. Values that are too large become infinity, and a NaN keeps
  /// the upper bits of its mantissa.
  [[gnu::always_inline]] void store(F16* p) const {
    for (std::size_t i = 0; i < kRegisters; ++i) Isa::narrow(p, i, part[i]);
  }

  /// Floats as lanes of double, and doubles rounded to float.
  [[gnu::always_inline]] static Sixteen load(const float* p) requires(sizeof(Lane) == 8) {
    return of([&](std::size_t i) { return Isa::widen(p, i); });
  }
  [[gnu::always_inline]] void store(float* p) const requires(sizeof(Lane) == 8) {
    using Half [[gnu::vector_size(sizeof(Register) / 2)]] = float;
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const Half half = __builtin_convertvector(part[i], Half);
      __builtin_memcpy(p + i * kLanes / kRegisters, &half, sizeof half);
    }
  }

  [[gnu::always_inline]] friend Sixteen operator+(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] + b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator-(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] - b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator*(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] * b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator/(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] / b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator&(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] & b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator|(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] | b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen operator^(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] ^ b.part[i]; });
  }
  template <int kBits>
  [[gnu::always_inline]] friend Sixteen shift_left(Sixteen a) {
    return of([&](std::size_t i) { return a.part[i] << kBits; });
  }
  /// An arithmetic shift: it fills with copies of the sign bit.
  template <int kBits>
  [[gnu::always_inline]] friend Sixteen shift_right(Sixteen a) {
    return of([&](std::size_t i) { return Register(typename Isa::Signed(a.part[i]) >> kBits); });
  }

  /// max is a > b ? a : b, and min is a < b ? a : b. Both are b if one of the two is NaN.
  [[gnu::always_inline]] friend Sixteen max(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] > b.part[i] ? a.part[i] : b.part[i]; });
  }
  [[gnu::always_inline]] friend Sixteen min(Sixteen a, Sixteen b) {
    return of([&](std::size_t i) { return a.part[i] < b.part[i] ? a.part[i] : b.part[i]; });
  }
  /// a < b ? x : y
  [[gnu::always_inline]] friend Sixteen select_less(Sixteen a, Sixteen b, Sixteen x, Sixteen y) {
    return of([&](std::size_t i) { return a.part[i] < b.part[i] ? x.part[i] : y.part[i]; });
  }
  /// a * b + c, rounded once.
  [[gnu::always_inline]] friend Sixteen fma(Sixteen a, Sixteen b, Sixteen c) {
    // An Isa that has to compute it in several steps does so for all registers at once.
    if constexpr (requires { Isa::fuse(a.part, b.part, c.part); }) {
      Isa::fuse(a.part, b.part, c.part);
      return c;
    } else {
      return of([&](std::size_t i) { return Isa::fma(a.part[i], b.part[i], c.part[i]); });
    }
  }

  /// sum + a * a. REQUIRES: the lanes of a are values of float.
  [[gnu::always_inline]] friend Sixteen add_square(Sixteen sum, Sixteen a) {
    return of([&](std::size_t i) { return Isa::add_square(sum.part[i], a.part[i]); });
  }

  /// Returns, for each lane, the upper half of the 64-bit product with `factor`.
  [[gnu::always_inline]] friend Sixteen high_product(Sixteen a, std::uint32_t factor) {
    return of([&](std::size_t i) { return Isa::high_product(a.part[i], factor); });
  }

  /// Returns, for each lane, the lane of `table` whose number is in the low 4 bits of `index`.
  [[gnu::always_inline]] friend Sixteen lookup(Sixteen table, Integer index) {
    return of([&](std::size_t i) { return Isa::lookup(table.part, index.part[i]); });
  }

  /// Returns, for each lane, sum + the dot product of the lane's 4 bytes of `codes` with its 4
  /// bytes of `x`. The codes are unsigned, and if kSignedCodes is true, 128 is subtracted from
  /// each. The bytes of x are signed.
  [[gnu::always_inline]] friend Sixteen dot(Sixteen sum, Sixteen codes, Sixteen x) {
    return of([&](std::size_t i) { return Isa::dot(sum.part[i], codes.part[i], x.part[i]); });
  }
  /// Turns each byte, which is 0 ... 15, into kInt4Codebook[byte] + 128.
  [[gnu::always_inline]] friend Sixteen codebook_lookup(Sixteen nibbles) {
    return of([&](std::size_t i) { return Isa::codebook_lookup(nibbles.part[i]); });
  }
  /// p[i] = the low 8 bits of lane i.
  [[gnu::always_inline]] friend void store_low_bytes(std::int8_t* p, Sixteen a) {
    Isa::store_low_bytes(p, a.part);
  }
};

template <class Isa>
using Floats = Sixteen<Isa, float>;
template <class Isa>
using Ints = Sixteen<Isa, std::uint32_t>;

template <class Isa>
[[gnu::always_inline]] inline Ints<Isa> bits_of(Floats<Isa> a) {
  return Ints<Isa>::of([&](std::size_t i) { return typename Isa::Int(a.part[i]); });
}
template <class Isa>
[[gnu::always_inline]] inline Floats<Isa> from_bits(Ints<Isa> a) {
  return Floats<Isa>::of([&](std::size_t i) { return typename Isa::Float(a.part[i]); });
}
/// Converts lanes of signed integers to float.
template <class Isa>
[[gnu::always_inline]] inline Floats<Isa> to_float(Ints<Isa> a) {
  using Float = typename Isa::Float;
  using Signed = typename Isa::Signed;
  return Floats<Isa>::of(
      [&](std::size_t i) { return __builtin_convertvector(Signed(a.part[i]), Float); });
}

/// Combines the lanes with `op` by the fixed tree: repeatedly combines the lower half of the lanes
/// with the upper half, until one lane is left. If there are several registers, the first steps
/// combine whole registers.
template <class Isa, class Lane, std::size_t kCount, class Register, class Op>
[[gnu::always_inline]] inline Lane fold(Register a, const Op& op) {
  if constexpr (kCount == 1) {
    return a[0];
  } else {
    using Half [[gnu::vector_size(kCount / 2 * sizeof(Lane))]] = Lane;
    Half half[2];
    __builtin_memcpy(half, &a, sizeof a);
    return fold<Isa, Lane, kCount / 2>(op(half[0], half[1]), op);
  }
}
/// Combines the registers of `a` until one is left: the first step of the fixed tree.
template <class Isa, class Lane, class Op>
[[gnu::always_inline]] inline auto fold_registers(Sixteen<Isa, Lane> a, const Op& op) {
  for (std::size_t half = a.kRegisters / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) a.part[i] = op(a.part[i], a.part[i + half]);
  }
  return a.part[0];
}
template <class Isa, class Lane, class Op>
[[gnu::always_inline]] inline Lane fold(Sixteen<Isa, Lane> a, const Op& op) {
  return fold<Isa, Lane, kLanes / a.kRegisters>(fold_registers(a, op), op);
}

/// Returns the sum of the lanes by the fixed tree: lane i plus lane i + 8, then plus lanes i + 4,
/// i + 2 and i + 1.
template <class Isa, class Lane>
[[gnu::always_inline]] inline Lane reduce_add(Sixteen<Isa, Lane> a) {
  return fold(a, [](auto x, auto y) { return x + y; });
}

/// The lanes of a, and then those of b, are groups of 2 kHalf lanes. Returns for each group, one
/// after another, the sum of its lower and its upper half. The template adds the indices i of the
/// lanes by itself.
template <std::size_t kHalf, class Register, std::size_t... i>
[[gnu::always_inline]] inline Register add_halves(Register a, Register b) {
  if constexpr (sizeof...(i) < sizeof(Register) / sizeof(float)) {
    return add_halves<kHalf, Register, i..., sizeof...(i)>(a, b);
  } else {
    return __builtin_shufflevector(a, b, (i / kHalf * 2 * kHalf + i % kHalf)...) +
           __builtin_shufflevector(a, b, (i / kHalf * 2 * kHalf + i % kHalf + kHalf)...);
  }
}

/// Reduces the first kCount registers of `part`, in place, to one register. Its lanes are the sums
/// of the groups of kGroup lanes that the registers consist of.
template <std::size_t kGroup, std::size_t kCount, class Register>
[[gnu::always_inline]] inline void add_groups(Register* part) {
  if constexpr (kGroup > 1) {
    constexpr std::size_t kLeft = (kCount + 1) / 2;
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kLeft; ++j) {
      part[j] = add_halves<kGroup / 2>(part[2 * j], part[(2 * j + 1) % kCount]);
    }
    add_groups<kGroup / 2, kLeft>(part);
  }
}

/// Computes sums[j] = reduce_add(a[j]) for all j at once, with a third of the instructions.
/// REQUIRES: kCount is a power of two, and not more than the lanes of a register.
template <class Isa, std::size_t kCount>
[[gnu::always_inline]] inline void reduce_add(float (&sums)[kCount],
                                              const Floats<Isa> (&a)[kCount]) {
  constexpr std::size_t kWidth = kLanes / Floats<Isa>::kRegisters;
  static_assert(kCount <= kWidth && kWidth % kCount == 0);
  typename Isa::Float part[kCount];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kCount; ++j) {
    part[j] = fold_registers(a[j], [](auto x, auto y) { return x + y; });
  }
  add_groups<kWidth, kCount>(part);
  __builtin_memcpy(sums, part, sizeof sums);
}

template <class Isa>
[[gnu::always_inline]] inline float reduce_max(Floats<Isa> a) {
  return fold(a, [](auto x, auto y) { return x > y ? x : y; });
}

}  // namespace gpt2
