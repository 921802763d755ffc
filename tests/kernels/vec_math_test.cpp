// Checks the error bounds that kernels/vec_math.h states against double precision, over dense
// ranges, and that the bits are the same on every instruction set.
#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::vec_math_test {

using namespace kernel_test;

namespace {

std::vector<float> range(double from, double to, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(from + (to - from) * static_cast<double>(i) /
                                         static_cast<double>(count - 1));
  }
  return x;
}

/// Returns f(x). Computes it with every table and CHECKs that all results are equal.
template <class F>
std::vector<float> common_result(const std::vector<float>& x, const F& f) {
  std::vector<float> first;
  for (const Kernels* const table : tables()) {
    std::vector<float> y = x;
    f(*table, y);
    if (first.empty()) first = y;
    INFO(table->name);
    CHECK(same_bits(first.data(), y.data(), y.size()));
  }
  return first;
}

template <class Exact>
double worst_ulps(const std::vector<float>& x, const std::vector<float>& y, const Exact& exact) {
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulps(y[i], exact(static_cast<double>(x[i]))));
  }
  return worst;
}

const auto kExp = [](const Kernels& t, std::vector<float>& y) {
  t.exp_sum(y.data(), y.data(), 0.0f, y.size());
};

}  // namespace

TEST_CASE("exp is within 1 ulp where its result is normal") {
  const auto exact = [](double v) { return std::exp(v); };
  for (const auto& x :
       {range(-87.33, 88.37, 400001), range(-1.0, 1.0, 200001), range(-1e-6, 1e-6, 999)}) {
    const double worst = worst_ulps(x, common_result(x, kExp), exact);
    INFO("worst " << worst << " ulp");
    CHECK(worst <= 1.0);
  }
}

TEST_CASE("exp becomes 0 and infinity exactly where vec_math.h says") {
  const std::vector<float> x = {-87.69f, -88.0f, -1e30f,   -INFINITY, 88.38f,
                                89.0f,   1e30f,  INFINITY, NAN};
  const std::vector<float> y = common_result(x, kExp);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::bit_cast<std::uint32_t>(y[i]) == 0);
  for (std::size_t i = 4; i < 8; ++i) CHECK(y[i] == INFINITY);
  CHECK(std::isnan(y[8]));
  const std::vector<float> whole = common_result({0.0f, -0.0f, -87.6f, 88.3f}, kExp);
  CHECK(whole[0] == 1.0f);
  CHECK(whole[1] == 1.0f);
  CHECK(whole[2] > 0.0f);
  CHECK(whole[3] < INFINITY);
}

TEST_CASE("log is within 1 ulp for numbers of every magnitude") {
  const auto log = [](const Kernels& t, std::vector<float>& y) { t.log(y.data(), y.size()); };
  const auto exact = [](double v) { return std::log(v); };
  std::vector<float> all;  // a sample of all positive normal numbers
  for (std::uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 8191)
    all.push_back(std::bit_cast<float>(bits));
  for (const auto& x : {all, range(0.5, 2.0, 400001), range(0.999, 1.001, 20001)}) {
    const double worst = worst_ulps(x, common_result(x, log), exact);
    INFO("worst " << worst << " ulp");
    CHECK(worst <= 1.0);
  }
  CHECK(common_result({1.0f}, log)[0] == 0.0f);
}

}  // namespace gpt2::test::vec_math_test
