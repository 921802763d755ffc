// e^x in double precision.
#include "generate/sampling/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/catch.h"

namespace gpt2::test::exp_f64_test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The error in units of the result's last digit. A long double has 11 bits or more than a double,
// and the C library's expl() is off by a few units of them.
double ulps(double x) {
  const double found = exp_f64(x);
  const long double exact = std::exp(static_cast<long double>(x));
  const double ulp = std::nextafter(found, kInfinity) - found;
  return std::abs(static_cast<double>((static_cast<long double>(found) - exact) / ulp));
}

}  // namespace

TEST_CASE("exp_f64 is within 1.5 ulp of the exact result") {
  std::mt19937_64 random(1);
  for (const double size : {1e-9, 0.35, 1.0, 20.0, 700.0}) {
    double worst = 0.0;
    for (int i = 0; i < 20000; ++i) {
      const double x = size * (static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
      worst = std::max(worst, ulps(x));
    }
    CAPTURE(size);
    CHECK(worst <= 1.5);
    CHECK(worst > 0.0);
  }
}

TEST_CASE("exp_f64 at the ends of its range") {
  CHECK(exp_f64(0.0) == 1.0);
  CHECK(exp_f64(-0.0) == 1.0);
  CHECK(std::isnan(exp_f64(std::numeric_limits<double>::quiet_NaN())));
  // The largest double is e^709.78..., the smallest normal one e^-708.39..., the smallest of all
  // e^-744.44...
  CHECK(ulps(709.78) <= 1.5);
  CHECK(ulps(-708.39) <= 1.5);
  CHECK(exp_f64(-744.4) == std::numeric_limits<double>::denorm_min());
  for (const double x : {709.79, 800.0, 1e300, kInfinity}) {
    CAPTURE(x);
    CHECK(exp_f64(x) == kInfinity);
    CHECK(exp_f64(-x - 40.0) == 0.0);
  }
}

}  // namespace gpt2::test::exp_f64_test
