// Tests that the loops that measure the speed of memory read every element once.
#include "kernels/kernels.h"
#include "support/catch.h"
#include "support/kernel_test.h"

namespace gpt2::test::limits_test {

TEST_CASE("every way of reading memory reads each element exactly once") {
  for (const gpt2::Kernels* k : kernel_test::tables()) {
    for (std::size_t way = 0; way < gpt2::kReadWays; ++way) {
      for (const std::size_t n : {std::size_t{512}, std::size_t{1536}, std::size_t{1} << 16}) {
        CAPTURE(k->name, way, n);
        // The values are small whole numbers, so that every order of addition gives the same sum.
        std::vector<float> values(n);
        float sum = 0.0f;
        for (std::size_t i = 0; i < n; ++i) {
          values[i] = static_cast<float>(i % 13);
          sum += values[i];
        }
        kernel_test::Guarded<float> x(values);
        CHECK(k->read_limit[way](x.data(), n) == sum);
      }
    }
  }
}

}  // namespace gpt2::test::limits_test
