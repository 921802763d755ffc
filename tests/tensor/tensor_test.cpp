// Tests tensors, the types of their elements, all 65,536 values of f16 and bf16, and the rounding
// between neighbours.
#include "gpt2/tensor.h"

#include "support/test.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace gpt2::test::tensor_test {

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

TEST_CASE("a tensor with more elements than memory can hold is refused") {
  const std::string expected = "shape [4611686018427387904] has too many elements";
  CHECK(refusal_of([] { (void)Tensor(Shape{std::size_t{1} << 62}); }) == expected);
  CHECK(refusal_of([] {
          (void)Tensor(Shape{std::size_t{1} << 32, std::size_t{1} << 32});
        }) == "shape [4294967296, 4294967296] has too many elements");
  CHECK(refusal_of([] {
          (void)Tensor(Shape{2, 2}, std::vector<float>{1.0f});
        }) == "a tensor of shape [2, 2] takes 4 values, got 1");
}

// See Dtype in safetensors/src/tensor.rs of https://github.com/huggingface/safetensors.
TEST_CASE("every type has the name and the size that safetensors gives it") {
  const std::pair<const char*, std::size_t> kTypes[] = {
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64}};
  std::set<DType> seen;
  for (const auto& [name, bits] : kTypes) {
    CAPTURE(name);
    const auto dtype = dtype_named(name);
    REQUIRE(dtype);
    CHECK(name_of(*dtype) == name);
    CHECK(bits_of(*dtype) == bits);
    CHECK(seen.insert(*dtype).second);
  }
  CHECK(seen.size() == static_cast<std::size_t>(DType::c64) + 1);
  for (const char* name : {"", "F128", "f32", "F32 "}) CHECK_FALSE(dtype_named(name));
}

}  // namespace gpt2::test::tensor_test
