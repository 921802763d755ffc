// Tests tensors, and the types of their elements.
#include "gpt2/tensor.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/refusal.h"
#include "tensor/dtype.h"

namespace gpt2::test::tensor_test {

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
