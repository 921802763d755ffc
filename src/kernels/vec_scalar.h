#pragma once

#include "kernels/vec.h"

namespace gpt2::scalar {

/// The Isa in plain C++. It is compiled for the baseline of the architecture, so it runs on every
/// CPU. It also documents the members of an Isa: tile sizes, and the operations on single registers
/// that vec.h explains.
///
/// The tile sizes here are not tuned. On x86-64 without FMA, every fma() calls fmaf(), and no tile
/// size makes that fast.
struct Isa : Registers<16> {
  static constexpr const char* kName = "scalar";
  // Products with weights as [k, n], and attention: the rows of x and the vectors of columns of a
  // tile of sums.
  static constexpr std::size_t kTileRows = 4;
  static constexpr std::size_t kTileVecs = 1;
  // The same products of few rows: the rows of w and the vectors of columns that are in registers
  // while all rows of x are multiplied with them.
  static constexpr std::size_t kStreamDepth = 4;
  static constexpr std::size_t kStreamVecs = 1;
  // Products with weights as [n, k]: the rows of x and the rows of w of a tile.
  static constexpr std::size_t kDotRows = 2;
  static constexpr std::size_t kDotColumns = 2;
  // Quantized products: the rows of x of a tile, the most rows of a tile (see tile_rows()), and the
  // vectors of columns.
  static constexpr std::size_t kQuantizedRows = 2;
  static constexpr std::size_t kQuantizedMaxRows = 2;
  static constexpr std::size_t kQuantizedVecs = 1;

  // Not inlined, because most CPUs without a faster Isa have to call fmaf() four times here. With
  // these calls inlined everywhere, compiling takes twice as long and nothing runs faster.
  [[gnu::noinline]] static Float fma(Float a, Float b, Float c) {
    for (int lane = 0; lane < 4; ++lane) c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    return c;
  }

  /// Returns sum + a * a for a that were floats. Their squares are exact, so it does not matter
  /// whether an Isa rounds them.
  static Double add_square(Double sum, Double a) { return sum + a * a; }

  /// Returns the upper halves of the 64-bit products of the lanes with `factor`.
  static Int high_product(Int a, std::uint32_t factor) {
    for (int lane = 0; lane < 4; ++lane) {
      a[lane] = static_cast<std::uint32_t>(std::uint64_t{a[lane]} * factor >> 32);
    }
    return a;
  }

  /// Returns register i of the registers that hold the 16 numbers from p on, as f32.
  static Float widen(const F16* p, std::size_t i) {
    const Int bits = two_bytes(p + i * 4);
    const Int sign = (bits & 0x8000u) << 16;
    const Int rest = (bits & 0x7fffu) << 13;
    // The exponent of f32 has a bias that is larger by 112. Multiplying by 2^112 adds this to the
    // exponent, and normalizes a subnormal number.
    const Int finite = Int(Float(rest) * 0x1p+112f);
    return Float((rest >= 0x7c00u << 13 ? rest | 0x7f800000u : finite) | sign);
  }
  static Float widen(const BF16* p, std::size_t i) { return Float(two_bytes(p + i * 4) << 16); }
  /// The same as f64.
  static Double widen(const float* p, std::size_t i) { return Double{p[i * 2], p[i * 2 + 1]}; }

  /// Stores register i of the registers that hold 16 numbers as f16, from p on. A NaN keeps the
  /// upper bits of its mantissa, as it does if the CPU has an instruction for the conversion.
  static void narrow(F16* p, std::size_t i, Float a) {
    const Int sign = Int(a) >> 16 & 0x8000u;
    const Int rest = Int(a) & 0x7fffffffu;
    const Int normal = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
    // For a subnormal result, adding 0.5 moves its bits to the low end of the sum and rounds them.
    const Int subnormal = Int(Float(rest) + 0.5f) - 0x3f000000u;
    const Int finite = rest < 0x38800000u ? subnormal : normal;
    const Int too_large = finite < 0x7c00u ? finite : Int{} + 0x7c00u;
    const Int half = sign | (rest > 0x7f800000u ? 0x7e00u | (rest >> 13 & 0x3ffu) : too_large);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      p[i * 4 + lane] = {
          {static_cast<unsigned char>(half[lane]), static_cast<unsigned char>(half[lane] >> 8)}};
    }
  }

  static Float lookup(const Float (&table)[4], Int index) {
    Float found;
    for (int lane = 0; lane < 4; ++lane) {
      const unsigned i = index[lane] & 15;
      found[lane] = table[i / 4][i % 4];
    }
    return found;
  }

  static constexpr bool kSignedCodes = false;  ///< whether dot() subtracts 128 from each code
  static Int dot(Int sum, Int codes, Int x) {
    for (int byte = 0; byte < 32; byte += 8) {
      sum += (codes >> byte & 255u) * Int(Signed(x << (24 - byte)) >> 24);
    }
    return sum;
  }
  static Int codebook_lookup(Int nibbles) {
    for (int lane = 0; lane < 4; ++lane) {
      unsigned codes = 0;
      for (int byte = 0; byte < 32; byte += 8) {
        codes |= static_cast<unsigned>(kInt4Codebook[nibbles[lane] >> byte & 15] + 128) << byte;
      }
      nibbles[lane] = codes;
    }
    return nibbles;
  }
  static void store_low_bytes(std::int8_t* p, const Int (&a)[4]) {
    for (std::size_t i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a[i / 4][i % 4]);
  }

 private:
  template <class Half>
  static Int two_bytes(const Half* p) {
    Int bits;
    for (int lane = 0; lane < 4; ++lane) {
      bits[lane] = p[lane].byte[0] | static_cast<unsigned>(p[lane].byte[1]) << 8;
    }
    return bits;
  }
};

using Vec = Floats<Isa>;

}  // namespace gpt2::scalar
