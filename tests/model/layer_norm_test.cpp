// Compares LayerNorm with torch's outputs and with its own promises.
#include "gpt2/layer_norm.h"

#include "support/golden.h"
#include "support/test.h"

namespace gpt2::test::layer_norm_test {

namespace {

double mean_of(const float* x, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum / static_cast<double>(n);
}

double biased_variance_of(const float* x, std::size_t n) {
  const double mean = mean_of(x, n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum / static_cast<double>(n);
}

Tensor random_tensor(const Shape& shape, unsigned seed, float mean = 0.0f, float deviation = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(mean, deviation);
  Tensor tensor(shape);
  for (float& value : tensor.values()) value = normal(engine);
  return tensor;
}

bool same_bits(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("without elementwise_affine there is no weight and no bias") {
  const LayerNorm ln({4}, 1e-5f, false);
  CHECK_FALSE(ln.elementwise_affine());
  CHECK(ln.weight.size() == 0);
  CHECK(ln.bias.size() == 0);
  const Tensor x = random_tensor({3, 4}, 1);
  const Tensor plain = LayerNorm({4})(x);  // weight 1, bias 0
  CHECK(same_bits(ln(x).data(), plain.data(), plain.size()));
  LayerNorm without({4});
  without.weight = without.bias = Tensor();
  CHECK(same_bits(without(x).data(), plain.data(), plain.size()));
}

TEST_CASE("shapes that do not match and invalid arguments are refused") {
  const auto apply = [](const LayerNorm& norm, const Shape& shape) {
    static_cast<void>(norm(Tensor(shape)));
  };
  check_bad_argument([&] { apply(LayerNorm({2, 4}), {3, 4, 2}); }, {"[3, 4, 2]", "[2, 4]"});
  for (const Shape& shape : {Shape{4}, Shape{}}) {
    CHECK_THROWS_AS(apply(LayerNorm({2, 4}), shape), Error);
  }
  for (const Shape& wrong : {Shape{5}, Shape{2, 2}, Shape{0}, Shape{0, 4}}) {
    LayerNorm ln({4});
    ln.weight = Tensor(wrong);
    CHECK_THROWS_AS(apply(ln, {4}), Error);
    ln.weight = Tensor();
    ln.bias = Tensor(wrong);
    CHECK_THROWS_AS(apply(ln, {4}), Error);
  }
  CHECK(LayerNorm({4})(Tensor(Shape{0, 4})).shape() == Shape{0, 4});
  for (const Shape& empty : {Shape{}, Shape{3, 0}}) CHECK_THROWS_AS(LayerNorm(empty), Error);
  for (const float eps : {-1e-5f, std::nanf("")}) CHECK_THROWS_AS(LayerNorm({3}, eps), Error);
  CHECK_NOTHROW(LayerNorm({3}, 0.0f));
}

// The bound of layer_norm.h, and what torch differs by: its eps is a double, which may differ from
// the float by 2^-25 of it, and its own rounding errors grow with the distance of a row from 0.
TEST_CASE("results are within the error bound of torch's layer_norm in double precision") {
  const gpt2::test::Golden golden(std::filesystem::path(GPT2_TEST_DATA) /
                                  "oracle/layer_norm_cases/golden.json");
  std::size_t compared = 0;
  for (const auto& entry : golden.json.at("cases")) {
    const std::string name = entry.at("name");
    INFO(name);
    if (golden.json.at("tensors").at(entry.at("x").get<std::string>()).at("dtype") != "f32")
      continue;
    const std::vector<float> x = golden.floats(entry.at("x"));
    const auto sizes = entry.at("normalized_shape").get<std::vector<std::size_t>>();
    const std::vector<double> expected = golden.tensor(entry.at("y_f64"));
    const float eps = entry.at("eps");
    const bool has_weight = entry.contains("weight") && !entry["weight"].is_null();
    const bool has_bias = entry.contains("bias") && !entry["bias"].is_null();
    LayerNorm ln(Shape(sizes), eps, has_weight || has_bias);
    if (has_weight) ln.weight = Tensor(Shape(sizes), golden.floats(entry["weight"]));
    if (has_bias) ln.bias = Tensor(Shape(sizes), golden.floats(entry["bias"]));
    const Tensor y = ln(Tensor(Shape(golden.shape(entry.at("x"))), x));

    const std::size_t n = ln.normalized_shape().element_count();
    for (std::size_t row = 0; row < x.size() / n; ++row) {
      const float* in = x.data() + row * n;
      const double mean = mean_of(in, n);
      const double deviation = std::sqrt(biased_variance_of(in, n) + static_cast<double>(eps));
      // Torch's mean of equal numbers differs from them by a rounding error, which it divides by
      // sqrt(eps), also if that is 0. The exact result is the bias.
      const bool is_constant = std::count(in, in + n, in[0]) == std::ptrdiff_t(n);
      for (std::size_t i = 0; i < n; ++i) {
        const double bias_i = has_bias ? static_cast<double>(ln.bias.values()[i]) : 0.0;
        const double truth = expected[row * n + i];
        const double actual = static_cast<double>(y.values()[row * n + i]);
        if (is_constant) {
          REQUIRE(actual == bias_i);
          continue;
        }
        if (!std::isfinite(truth)) {
          CHECK(std::isfinite(actual) == false);
          continue;
        }
        const double weight =
            has_weight ? std::abs(static_cast<double>(ln.weight.values()[i])) : 1.0;
        const double z = (static_cast<double>(in[i]) - mean) / deviation;
        const double of_eps = static_cast<double>(eps) / (deviation * deviation) * 0x1p-25;
        const double of_torch = static_cast<double>(n) * (1.0 + std::abs(mean) / deviation);
        const double tolerance =
            0x1p-24 * std::abs(truth) + 0x1p-150 + weight * std::abs(z) * of_eps +
            (of_torch + 20.0) * 0x1p-53 * (weight * (1.0 + std::abs(z)) + std::abs(bias_i));
        INFO("row " << row << " element " << i << ": " << actual << " for " << truth);
        REQUIRE(std::abs(actual - truth) <= tolerance);
      }
    }
    ++compared;
  }
  WARN("compared " << compared << " LayerNorm cases with torch");
  CHECK(compared >= 70);
}

}  // namespace gpt2::test::layer_norm_test
