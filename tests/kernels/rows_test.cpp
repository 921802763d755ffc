// Tests the kernels on rows: layer_norm, activations, add, widen, narrow, argmax, exp_sum, philox
// and gumbel; the loops that measure the speed of memory; and which instruction set is used.
#include <array>
#include <cstdlib>

#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "support/is_slow.h"
#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::rows_test {

using namespace kernel_test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Returns every length up to two vectors plus one, and longer ones, among them GPT-2's own.
std::vector<std::size_t> lengths(std::size_t from) {
  std::vector<std::size_t> all;
  for (std::size_t n = from; n <= 2 * kLanes + 1; ++n) all.push_back(n);
  all.insert(all.end(), {64, 100, 768, 1600, 3072});
  return all;
}

/// Returns the mean of term(i) over n elements, exactly by the rules of kernels.h.
template <class Term>
double mean_of(std::size_t n, const Term& term) {
  double lane[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) lane[i % kLanes] += term(i);
  return tree_sum(lane) / static_cast<double>(n);
}

/// Computes LayerNorm of one row by these rules.
std::vector<float> layer_norm_row(const float* x, const float* weight, const float* bias,
                                  std::size_t n, float epsilon) {
  double center = 0.0, offset = 0.0, variance = 0.0;
  for (int pass = 0; pass < 2; ++pass) {
    const auto deviation = [&](std::size_t i) { return static_cast<double>(x[i]) - center; };
    offset = mean_of(n, deviation);
    variance =
        mean_of(n, [&](std::size_t i) { return deviation(i) * deviation(i); }) - offset * offset;
    if (pass == 1 || offset * offset <= variance + static_cast<double>(epsilon)) break;
    center = static_cast<double>(static_cast<float>(offset));
  }
  const double square = variance + static_cast<double>(epsilon);
  const double rstd = square == 0.0 ? 0.0 : 1.0 / std::sqrt(square);
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double deviation = static_cast<double>(x[i]) - center - offset;
    y[i] = static_cast<float>(deviation * rstd * static_cast<double>(weight ? weight[i] : 1.0f) +
                              static_cast<double>(bias ? bias[i] : 0.0f));
  }
  return y;
}

/// A row whose elements are normal numbers, but for some outliers.
struct NormCase {
  float offset, deviation, epsilon = 1e-5f, outlier = 0.0f;
  std::size_t outliers = 0;
};
constexpr NormCase kNormCases[] = {
    {0.0f, 1.0f},
    {-0.9f, 1.0f},
    {3.0f, 2.0f},
    {-50.0f, 1.0f},
    {1e4f, 1.0f},
    {1e6f, 1.0f},
    {1e8f, 1.0f},
    {1e8f, 100.0f},
    {0.0f, 0x1p-149f, 0.0f},
    {0x1p-140f, 0x1p-146f, 0.0f},
    {1e-20f, 1e-20f, 0.0f},
    {0.0f, 1e-3f, 1e-6f},
    {1e20f, 1e20f},
    {0.0f, 0x1p127f},
    {0.0f, 1.0f, 1e-5f, 3000.0f, 1},
    {0.0f, 1.0f, 1e-5f, -8192.0f, 3},
    {0.0f, 1.0f, 1e-5f, 4096.0f, 16},
    {0.0f, 1.0f, 1e-5f, 1e30f, 1},
    {1e6f, 1.0f, 1e-5f, 0.1f, 1},
};

std::vector<float> row_of(const NormCase& c, std::size_t n, Random& random) {
  std::vector<float> x = random.normal(n);
  constexpr float kMax = std::numeric_limits<float>::max();
  for (float& v : x) v = std::clamp(v * c.deviation + c.offset, -kMax, kMax);
  for (std::size_t i = 0; i < std::min(n, c.outliers); ++i) x[i * 7919 % n] = c.outlier;
  return x;
}

/// Returns the largest error of a normalized row, divided by the one that layer_norm.h allows.
double layer_norm_error(const float* y, const float* x, const float* weight, const float* bias,
                        std::size_t n, float epsilon) {
  const auto count = static_cast<long double>(n);
  const long double last = static_cast<long double>(x[n - 1]);  // if x is far from 0, near its mean
  long double mean = 0.0L, variance = 0.0L;
  for (std::size_t i = 0; i < n; ++i) mean += static_cast<long double>(x[i]) - last;
  mean /= count;
  for (std::size_t i = 0; i < n; ++i) {
    const long double deviation = static_cast<long double>(x[i]) - last - mean;
    variance += deviation * deviation / count;
  }
  const long double square = variance + static_cast<long double>(epsilon);
  double worst = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double deviation = static_cast<long double>(x[i]) - last - mean;
    const long double z = square == 0.0L ? 0.0L : deviation / std::sqrt(square);
    const auto w = static_cast<long double>(weight ? weight[i] : 1.0f);
    const auto b = static_cast<long double>(bias ? bias[i] : 0.0f);
    const long double exact = z * w + b;
    const long double half_ulp = std::ldexp(1.0L, std::max(std::ilogb(exact), -126) - 24);
    const long double more =
        (count / 5.0L + 20.0L) * 0x1p-53L * (std::abs(w) * (1.0L + std::abs(z)) + std::abs(b));
    const long double error = std::abs(static_cast<long double>(y[i]) - exact);
    worst = std::max(worst, static_cast<double>(error / (half_ulp + more)));
  }
  return worst;
}

struct Activation {
  const char* name;
  ActivationKernel Kernels::*kernel;
  double (*exact)(double);
  double (*erf_factor)(double) = [](double) { return 0.0; };  ///< the factor of (1 + erf) / 2
};

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
/// Returns x (1 + tanh u) / 2, computed without cancellation.
double gelu_tanh(double x) {
  return x * sigmoid(2.0 * std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x));
}

const Activation kActivations[] = {
    {"gelu_new", &Kernels::gelu_new, gelu_tanh},
    {"gelu", &Kernels::gelu, [](double x) { return x * normal_cdf(x); },
     [](double x) { return std::abs(x); }},
    {"gelu_10", &Kernels::gelu_10,
     [](double x) { return std::min(10.0, std::max(-10.0, x * normal_cdf(x))); },
     [](double x) { return std::abs(x); }},
    {"quick_gelu", &Kernels::quick_gelu, [](double x) { return x * sigmoid(1.702 * x); }},
    {"relu", &Kernels::relu, [](double x) { return std::max(0.0, x); }},
    {"relu2", &Kernels::relu2, [](double x) { return x > 0 ? x * x : 0.0; }},
    {"relu6", &Kernels::relu6, [](double x) { return std::min(6.0, std::max(0.0, x)); }},
    {"silu", &Kernels::silu, [](double x) { return x * sigmoid(x); }},
    {"mish", &Kernels::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"tanh", &Kernels::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", &Kernels::sigmoid, sigmoid},
    {"laplace", &Kernels::laplace, [](double x) { return normal_cdf((x - 0.707107) / 0.282095); },
     [](double) { return 1.0; }},
    {"hardswish", &Kernels::hardswish,
     [](double x) { return x * std::min(6.0, std::max(0.0, x + 3)) / 6; }},
    {"leaky_relu", &Kernels::leaky_relu, [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"sqrtsoftplus", &Kernels::sqrtsoftplus,
     [](double x) { return std::sqrt(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); }},
};

}  // namespace

TEST_CASE("layer_norm follows the rules bit for bit, in place and with any number of rows") {
  for (const NormKernels* const table : norm_tables()) {
    for (const std::size_t n : lengths(1)) {
      const std::size_t rows = 1 + n % 9;
      INFO(table->name << ", n " << n << ", rows " << rows);
      Random random(static_cast<unsigned>(n));
      Guarded<float> x(random.normal(rows * n, 3.0f, 2.0f));
      Guarded<float> weight(random.normal(n));
      Guarded<float> bias(random.normal(n));
      Guarded<float> y(rows * n);
      const float* const w = n % 3 == 1 ? nullptr : weight.data();
      const float* const b = n % 4 == 1 ? nullptr : bias.data();
      table->layer_norm(y.data(), x.data(), w, b, rows, n, 1e-5f);
      bool equal = true;
      for (std::size_t row = 0; row < rows; ++row) {
        const auto expected = layer_norm_row(x.data() + row * n, w, b, n, 1e-5f);
        equal = equal && same_bits(y.data() + row * n, expected.data(), n);
      }
      CHECK(equal);
      table->layer_norm(x.data(), x.data(), w, b, rows, n, 1e-5f);
      CHECK(same_bits(x.data(), y.data(), rows * n));
    }
  }
}

TEST_CASE("layer_norm rounds the exact result, however wide or far from 0 a row is") {
  const int widest = test::is_slow() ? 1 << 16 : 1 << 20;
  for (const std::size_t n : {1, 2, 15, 17, 100, 768, 1600, 8193, widest}) {
    for (const NormCase& c : kNormCases) {
      INFO("n " << n << ", offset " << c.offset << ", deviation " << c.deviation << ", "
                << c.outliers << " outliers of " << c.outlier);
      Random random(static_cast<unsigned>(n));
      const auto x = row_of(c, n, random), weight = random.normal(n), bias = random.normal(n);
      const float* const w = n == 1600 ? nullptr : weight.data();
      const float* const b = n == 1600 ? nullptr : bias.data();
      const auto expected = layer_norm_row(x.data(), w, b, n, c.epsilon);
      CHECK(layer_norm_error(expected.data(), x.data(), w, b, n, c.epsilon) <= 1.0);
      std::vector<float> y(n);
      for (const NormKernels* const table : norm_tables()) {
        INFO(table->name);
        table->layer_norm(y.data(), x.data(), w, b, 1, n, c.epsilon);
        CHECK(same_bits(y.data(), expected.data(), n));
      }
    }
  }
}

TEST_CASE("a row of one value becomes the bias") {
  const float values[] = {0.0f, 1e-45f, 1e-40f, 1e-20f, 0.1f, 3.3f, 3.6e11f, 1e30f, -3.4e38f};
  for (const NormKernels* const table : norm_tables()) {
    for (const float value : values) {
      for (const float epsilon : {0.0f, 1e-42f, 1e-35f, 1e-5f, 1e10f}) {
        for (const std::size_t n : {1, 3, 768, 7001}) {
          const std::vector<float> x(n, value), bias(n, 0.25f);
          std::vector<float> y(n);
          table->layer_norm(y.data(), x.data(), nullptr, bias.data(), 1, n, epsilon);
          INFO(table->name << ", value " << value << ", epsilon " << epsilon << ", n " << n);
          CHECK(y == bias);
        }
      }
    }
  }
}

TEST_CASE("infinity and NaN make their row NaN, as in PyTorch, and no other") {
  for (const NormKernels* const table : norm_tables()) {
    for (const float bad : {kInfinity, -kInfinity, kNaN}) {
      for (const std::size_t n : {1, 5, 16, 768}) {
        INFO(table->name << ", " << bad << ", n " << n);
        std::vector<float> x = Random(1).normal(3 * n), y(3 * n);
        x[n + n / 2] = bad;
        table->layer_norm(y.data(), x.data(), nullptr, nullptr, 3, n, 1e-5f);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < 3 * n; ++i) wrong += std::isnan(y[i]) != (i / n == 1);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("activations are close to their formulas, and the same bits on every instruction set") {
  // x runs from -30 to 30 in steps that are not round numbers. Zeros, tiny numbers and large
  // numbers are added.
  std::vector<float> x;
  for (float value = -30.0f; value < 30.0f; value += 0.00137f) x.push_back(value);
  for (const float value : {0.0f, -0.0f, 1e-38f, -1e-42f, 88.0f, -88.0f, 1e4f, -1e4f})
    x.push_back(value);
  for (const Activation& activation : kActivations) {
    std::vector<float> first;
    for (const Kernels* const table : tables()) {
      INFO(activation.name << ' ' << table->name);
      std::vector<float> y = x;
      (table->*activation.kernel)(y.data(), y.size());
      if (first.empty()) first = y;
      CHECK(same_bits(y.data(), first.data(), y.size()));
    }
    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<double>(x[i]);
      const double exact = activation.exact(at);
      // The bound allows for a handful of roundings. Where the result is about x e^v, the roundings
      // of v count |v| times. The error function's own error is absolute.
      const double v = std::abs(std::log(std::abs(exact / at) + 1e-45));
      const double bound = kUnitRoundoff * std::abs(exact) * (6.0 + (at < 0 ? 4.0 * v : 0.0)) +
                           1.3e-7 * activation.erf_factor(at) + 1e-37 * std::abs(at) + 1e-45;
      worst = std::max(worst, std::abs(static_cast<double>(first[i]) - exact) / bound);
    }
    INFO(activation.name << ", error over its bound " << worst);
    CHECK(worst <= 1.0);
  }
}

TEST_CASE("activations keep NaN, and are exact for large x") {
  for (const Kernels* const table : tables()) {
    for (const Activation& activation : kActivations) {
      INFO(table->name << ' ' << activation.name);
      float y = kNaN;
      (table->*activation.kernel)(&y, 1);
      CHECK(std::isnan(y));
      y = 200.0f;
      (table->*activation.kernel)(&y, 1);
      CHECK(y == static_cast<float>(activation.exact(200.0)));
    }
  }
}

TEST_CASE("row kernels stay inside their rows at every length and alignment") {
  for (const Kernels* const table : tables()) {
    for (const std::size_t n : lengths(0)) {
      INFO(table->name << ", n " << n);
      Random random(static_cast<unsigned>(n));
      const auto a = random.normal(n), b = random.normal(n);
      Guarded<float> x(a), y(b);
      table->add(y.data(), x.data(), n);
      bool sums = true;
      for (std::size_t i = 0; i < n; ++i) sums = sums && y.data()[i] == a[i] + b[i];
      CHECK(sums);
      for (const Activation& activation : kActivations) (table->*activation.kernel)(x.data(), n);
      Guarded<std::uint32_t> bits(std::vector<std::uint32_t>(n, 7u));
      table->gumbel(y.data(), bits.data(), n);

      Guarded<float> odd(a, 1);
      table->widen_f32(y.data(), odd.address(), n);
      CHECK(same_bits(y.data(), a.data(), n));

      Guarded<std::uint16_t> narrow(n, 1);
      table->narrow_f16(narrow.address(), y.data(), n);
      bool halves = true;
      for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, static_cast<char*>(narrow.address()) + 2 * i, 2);
        halves = halves && half == to_f16(a[i]);
      }
      CHECK(halves);
    }
  }
}

TEST_CASE("narrow rounds every number like the scalar conversion, and clamps the finite ones") {
  // All values of the upper 22 bits of a float, with each of three values of the lower bits. They
  // include every f16 number, every midpoint between two f16 numbers, and the nearest floats on
  // both sides of each.
  std::vector<float> all;
  const std::uint32_t step = test::is_slow() ? 7 : 1;
  for (std::uint32_t upper = 0; upper < 1u << 22; upper += step) {
    for (const std::uint32_t lower : {0u, 1u, 1023u}) {
      all.push_back(std::bit_cast<float>(upper << 10 | lower));
    }
  }
  const auto expected = [](float x) {
    return to_f16(std::isfinite(x) ? std::clamp(x, -65504.0f, 65504.0f) : x);
  };
  CHECK(expected(1e30f) == 0x7bff);
  CHECK(expected(-INFINITY) == 0xfc00);
  std::vector<std::uint16_t> first;
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    std::vector<std::uint16_t> actual(all.size());
    table->narrow_f16(actual.data(), all.data(), all.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_right =
          std::isnan(all[i]) ? (actual[i] & 0x7fff) > 0x7c00 : actual[i] == expected(all[i]);
      wrong += !is_right;
    }
    CHECK(wrong == 0);
    if (first.empty()) first = actual;
    CHECK(actual == first);  // of NaN, too
  }
}

TEST_CASE("widen gives each of the 65,536 f16 and bf16 numbers its value") {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Kernels* const table : tables()) {
    for (const std::size_t skew : {0u, 1u}) {
      INFO(table->name << ", skew " << skew);
      Guarded<std::uint16_t> stored(all, skew);
      std::vector<float> f16(all.size()), bf16(all.size());
      table->widen_f16(f16.data(), stored.address(), all.size());
      table->widen_bf16(bf16.data(), stored.address(), all.size());
      const auto equal = [](float a, float b) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
               (std::isnan(a) && std::isnan(b));
      };
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        wrong += !equal(f16[i], from_f16(all[i])) || !equal(bf16[i], from_bf16(all[i]));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("argmax finds the first of the largest elements") {
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 33u, 511u, 512u, 513u, 1025u, 5000u}) {
      Guarded<float> x(Random(static_cast<unsigned>(n)).normal(n));
      const auto expected = std::max_element(x.data(), x.data() + n) - x.data();
      CHECK(table->argmax(x.data(), n) == static_cast<std::size_t>(expected));
      for (std::size_t i = n / 3; i < n; i += 5) x.data()[i] = 9.0f;
      CHECK(table->argmax(x.data(), n) == n / 3);
    }
    const std::vector<float> with_nan = {kNaN, -2.0f, kNaN, 3.0f, 3.0f, kNaN};
    CHECK(table->argmax(with_nan.data(), with_nan.size()) == 3);
    const std::vector<float> none = {kNaN, -kInfinity, kNaN};
    CHECK(table->argmax(none.data(), none.size()) == 0);
    const std::vector<float> infinite = {1.0f, kInfinity, kInfinity};
    CHECK(table->argmax(infinite.data(), infinite.size()) == 1);
  }
}

TEST_CASE("exp_sum subtracts the max, sums by the tree and works in place") {
  for (const std::size_t n : lengths(0)) {
    const std::vector<float> x = Random(static_cast<unsigned>(n)).normal(n, 0.0f, 10.0f);
    const float largest = n ? *std::max_element(x.begin(), x.end()) : 0.0f;
    std::vector<float> first;
    for (const Kernels* const table : tables()) {
      INFO(table->name << ", n " << n);
      Guarded<float> in(x), out(n);
      const float sum = table->exp_sum(out.data(), in.data(), largest, n);
      float lane[kLanes] = {};
      double worst = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        lane[i % kLanes] += out.data()[i];
        const double exact = std::exp(static_cast<double>(x[i] - largest));
        worst = std::max(worst, ulps(out.data()[i], exact));
      }
      CHECK(worst <= 1.0);
      CHECK(sum == tree_sum(lane));
      CHECK(table->exp_sum(in.data(), in.data(), largest, n) == sum);
      CHECK(same_bits(in.data(), out.data(), n));
      if (first.empty()) first.assign(out.data(), out.data() + n);
      CHECK(same_bits(out.data(), first.data(), n));
    }
  }
}

TEST_CASE("Philox gives the results of its authors' test vectors") {
  // The counter and the key of each vector, and its four words.
  struct Vector {
    std::uint32_t block;
    PhiloxStream stream;
    std::array<std::uint32_t, 4> words;
  };
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  const Vector vectors[] = {
      {0, {0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {0xffffffff, {0xffffffff, kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x243f6a88,
       {0x85a308d3, 0x0370734413198a2e, 0x299f31d0a4093822},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    for (const auto& [block, stream, words] : vectors) {
      // The block is tried at every lane, and in calls of every number of lanes.
      for (std::size_t n = 1; n <= 2 * kLanes + 1; ++n) {
        Guarded<std::uint32_t> blocks(std::vector<std::uint32_t>(n, block));
        Guarded<std::uint32_t> found(std::vector<std::uint32_t>(4 * n));
        table->philox(found.data(), blocks.data(), n, stream);
        bool equal = true;
        for (std::size_t i = 0; i < 4 * n; ++i) equal &= found.data()[i] == words[i % 4];
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("gumbel noise is the function of the bits that kernels.h states") {
  Random random(1);
  std::vector<std::uint32_t> bits = {0, 511, 512, 0x7fffffff, 0x80000000, 0xfffffe00, 0xffffffff};
  while (bits.size() < 20000) bits.push_back(random.bits());
  std::vector<float> first;
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    std::vector<float> y(bits.size());
    table->gumbel(y.data(), bits.data(), bits.size());
    if (first.empty()) first = y;
    CHECK(same_bits(y.data(), first.data(), y.size()));
    double worst = 0.0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const double u = (static_cast<double>(bits[i] / 512) + 0.5) * 0x1p-23;
      const double exact = -std::log(-std::log(u));
      // The relative error of the inner logarithm becomes an absolute error of the outer one, which
      // adds its own error.
      const double bound = 2.0 * 0x1p-23 * (1.0 + std::abs(exact));
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / bound);
    }
    CHECK(worst <= 1.0);
  }
}

TEST_CASE("every way of reading memory reads each element exactly once") {
  for (const Kernels* const k : tables()) {
    for (std::size_t way = 0; way < kReadWays; ++way) {
      for (const std::size_t n : {std::size_t{512}, std::size_t{1536}, std::size_t{1} << 16}) {
        CAPTURE(k->name, way, n);
        // The values are small whole numbers, so that every order of addition gives the same sum.
        std::vector<float> values(n);
        float sum = 0.0f;
        for (std::size_t i = 0; i < n; ++i) {
          values[i] = static_cast<float>(i % 13);
          sum += values[i];
        }
        Guarded<float> x(values);
        CHECK(k->read_limit[way](x.data(), n) == sum);
      }
    }
  }
}

TEST_CASE("force_isa swaps the table, and refuses an unavailable instruction set") {
  const std::string before(isa_name());
  if (std::getenv("GPT2_ISA") == nullptr) CHECK(before == available_isas().front());
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    CHECK(kernels().name == isa);
    CHECK(isa.starts_with(norm_kernels().name));  // "avx512_amx" has the table of "avx512"
  }
  force_isa(before);
  for (const char* const wrong : {"", "AVX2", "sse9"}) {
    check_refused([&] { force_isa(wrong); }, {"scalar"}, ErrorCode::unsupported);
  }
  CHECK(isa_name() == before);
}

}  // namespace gpt2::test::rows_test
