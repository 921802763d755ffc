#include <bit>
#include <cmath>
#include <cstdint>

// mingw's fmaf() rounds the product, which breaks the promise of the same bits on every machine.
// The linker takes this one in its place, also for a program that is linked with the library.

/// Returns a * b + c, rounded once.
///
/// The product of two floats is exact in double. The sum is rounded to odd: if it is not exact, its
/// last bit becomes 1. A double has more than twice the bits of a float, so that rounding such a
/// sum to float gives what rounding the exact sum would give (Boldo and Melquiond, "Emulation of
/// FMA and correctly rounded sums", 2008).
extern "C" float fmaf(float a, float b, float c) {
  const double product = double{a} * double{b};
  const double sum = product + double{c};
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  // The error of the sum, exactly (Knuth's two-sum).
  const double rest = sum - product;
  const double error = (product - (sum - rest)) + (double{c} - rest);
  if (error == 0.0) return static_cast<float>(sum);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  // An even last bit: the exact sum lies between this double and its odd neighbour.
  if ((bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1u : ~std::uint64_t{0};
  return static_cast<float>(std::bit_cast<double>(bits));
}
