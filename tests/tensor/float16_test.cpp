// Tests all 65,536 values of f16 and bf16, and the rounding between neighbours.
#include "tensor/float16.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

namespace gpt2::test::float16_test {

namespace {

// Returns the value of a binary16 number, as IEEE 754 defines it.
double binary16(unsigned bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023;
  if (exponent == 31) return fraction == 0.0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0 + fraction, exponent - 25);
}

}  // namespace

TEST_CASE("every f16 widens to its value, and narrows back to itself") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = from_f16(static_cast<std::uint16_t>(bits));
    const double expected = binary16(bits);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(wide));
      REQUIRE(std::isnan(from_f16(to_f16(wide))));
    } else {
      REQUIRE(static_cast<double>(wide) == expected);
      REQUIRE(std::signbit(wide) == (bits >= 32768));
      REQUIRE(to_f16(wide) == bits);
    }
  }
}

TEST_CASE("f16 rounds to nearest, ties to even") {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const double low = binary16(bits);
    const double high = binary16(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    REQUIRE(to_f16(middle) == (bits % 2 == 0 ? bits : bits + 1));
    REQUIRE(to_f16(std::nextafter(middle, 0.0f)) == bits);
    REQUIRE(to_f16(std::nextafter(middle, 1e9f)) == bits + 1);
  }
  CHECK(to_f16(65519.996f) == 0x7bff);
  CHECK(to_f16(65520.0f) == 0x7c00);
  CHECK(to_f16(std::numeric_limits<float>::max()) == 0x7c00);
}

TEST_CASE("every bf16 widens exactly and narrows back; ties go to even") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = from_bf16(static_cast<std::uint16_t>(bits));
    if (std::isnan(wide)) {
      REQUIRE(std::isnan(from_bf16(to_bf16(wide))));
      continue;
    }
    REQUIRE(to_bf16(wide) == bits);
    if ((bits & 0x7fff) >= 0x7f80) continue;
    const auto middle = std::bit_cast<float>(bits << 16 | 0x8000);
    REQUIRE(to_bf16(middle) == (bits % 2 == 0 ? bits : bits + 1));
  }
}

}  // namespace gpt2::test::float16_test
