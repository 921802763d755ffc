#include "generate/sampling/exp_f64.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gpt2 {

// x = n ln 2 + r with |r| <= ln 2 / 2, so that e^x = 2^n e^r. Every step is an operation that IEEE
// 754 defines exactly; so are nearbyint() and ldexp().
//
// The series 1 + r/1 (1 + r/2 (1 + r/3 ...)) ends with r^13 / 13!. The terms left out sum up to
// less than 2^-57 of e^r, at most an eighth of half an ulp.
double exp_f64(double x) noexcept {
  if (std::isnan(x)) return x;
  constexpr double kLn2High = 0x1.62e42feep-1;  // has 31 bits, so that n * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  x = std::clamp(x, -800.0, 800.0);  // the results there are 0 and infinity already
  const double n = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (double k = 13.0; k >= 1.0; --k) sum = 1.0 + r * sum / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace gpt2
