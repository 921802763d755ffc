// Tests matrix products with f32, f16 and bf16 weights, bit for bit against the rules of kernels.h
// on every instruction set.
#include "support/is_slow.h"
#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::matmul_test {

using namespace kernel_test;

namespace {

enum class Stored { f32, f16, bf16 };

struct Case {
  std::size_t m, k, n;
  Stored stored;
  bool kn;
  bool bias, activation, accumulate;
};

std::string describe(const Case& c) {
  const char* const names[] = {"f32", "f16", "bf16"};
  return std::to_string(c.m) + " x " + std::to_string(c.k) + " x " + std::to_string(c.n) + ' ' +
         names[static_cast<int>(c.stored)] + (c.kn ? " kn" : " nk") + (c.bias ? " bias" : "") +
         (c.activation ? " activation" : "") + (c.accumulate ? " accumulate" : "");
}

/// The stored bytes of weights, and the f32 values that they stand for.
struct Weights {
  std::vector<unsigned char> bytes;
  std::vector<float> values;
};

Weights make_weights(const std::vector<float>& values, Stored stored) {
  Weights weights;
  for (const float value : values) {
    unsigned char bytes[4];
    float kept = value;
    if (stored == Stored::f32) {
      std::memcpy(bytes, &value, 4);
    } else {
      const std::uint16_t bits = stored == Stored::f16 ? to_f16(value) : to_bf16(value);
      kept = stored == Stored::f16 ? from_f16(bits) : from_bf16(bits);
      std::memcpy(bytes, &bits, 2);
    }
    weights.bytes.insert(weights.bytes.end(), bytes, bytes + (stored == Stored::f32 ? 4 : 2));
    weights.values.push_back(kept);
  }
  return weights;
}

const Walks<Kernels::MatmulKernel>& column_walks(const Kernels& t, bool kn, Stored stored) {
  switch (stored) {
    case Stored::f32: return kn ? t.matmul_kn_f32 : t.matmul_nk_f32;
    case Stored::f16: return kn ? t.matmul_kn_f16 : t.matmul_nk_f16;
    default: return kn ? t.matmul_kn_bf16 : t.matmul_nk_bf16;
  }
}

const Walks<Kernels::ChunksKernel>& chunk_walks(const Kernels& t, Stored stored) {
  switch (stored) {
    case Stored::f32: return t.matmul_chunks_kn_f32;
    case Stored::f16: return t.matmul_chunks_kn_f16;
    default: return t.matmul_chunks_kn_bf16;
  }
}

/// The operands of a product. There are gaps between the rows, and kernels must not pass the ends.
struct Operands {
  Operands(const Case& shape, unsigned seed)
      : c(shape), x_stride(c.k + seed % 3), y_stride(c.n + seed % 5) {
    Random random(seed);
    x = random.normal(c.m * x_stride);
    w = make_weights(random.normal(c.k * c.n), c.stored);
    bias = random.normal(c.n);
    y = random.normal(c.m * y_stride);
  }

  Case c;
  std::size_t x_stride, y_stride;
  std::vector<float> x, bias, y;
  Weights w;

  float weight(std::size_t k, std::size_t n) const {
    return w.values[c.kn ? k * c.n + n : n * c.k + k];
  }

  /// Returns y as the rules define it. Elements between the rows keep their values.
  std::vector<float> expected(ActivationKernel activation) const {
    std::vector<float> result = y;
    for (std::size_t i = 0; i < c.m; ++i) {
      for (std::size_t n = 0; n < c.n; ++n) {
        const float* const row = x.data() + i * x_stride;
        float sum = c.kn ? dot_kn(row, c.k, [&](std::size_t k) { return weight(k, n); })
                         : dot_nk(row, c.k, w.values.data() + n * c.k);
        if (c.bias) sum = sum + bias[n];
        if (activation) activation(&sum, 1);
        float& out = result[i * y_stride + n];
        out = c.accumulate ? out + sum : sum;
      }
    }
    return result;
  }

  /// Returns y as a kernel with this walk computes it, in `parts` ranges of columns. If by_chunks,
  /// computes the rows chunk by chunk.
  std::vector<float> actual(const Kernels& table, std::size_t walk, std::size_t parts,
                            bool by_chunks) const {
    Guarded<float> guarded_x(
        c.m ? std::vector<float>(x.begin(), x.end() - static_cast<long>(x_stride - c.k)) : x);
    Guarded<unsigned char> guarded_w(w.bytes, parts % 2);  // every second case has odd addresses
    Guarded<float> guarded_bias(bias);
    Guarded<float> guarded_y(y);
    AlignedBuffer<float> scratch(kMatmulScratchBytes / sizeof(float));
    const Matmul product{.y = guarded_y.data(),
                         .y_stride = y_stride,
                         .x = guarded_x.data(),
                         .x_stride = x_stride,
                         .w = guarded_w.address(),
                         .m = c.m,
                         .k = c.k,
                         .n = c.n,
                         .bias = c.bias ? guarded_bias.data() : nullptr,
                         .activation = c.activation ? table.relu : nullptr,
                         .accumulate = c.accumulate};
    const std::size_t step = std::max<std::size_t>(1, (c.n / parts + kPanel) / kPanel) * kPanel;
    const std::size_t count = chunk_sums_floats(c.k, c.n);
    const std::size_t share = std::max(kPanel, count / parts / kPanel * kPanel);
    Guarded<float> sums(std::vector<float>(c.m * count, NAN));
    for (std::size_t i = 0; by_chunks && i < count; i += share) {
      chunk_walks(table, c.stored)
          .walk[walk]
          .kernel(product, i, std::min(count, i + share), sums.data());
    }
    for (std::size_t n = 0; n < c.n; n += step) {
      if (by_chunks) {
        table.add_chunks(product, n, std::min(c.n, n + step), sums.data());
        continue;
      }
      column_walks(table, c.kn, c.stored)
          .walk[walk]
          .kernel(product, n, std::min(c.n, n + step), scratch.data());
    }
    return {guarded_y.data(), guarded_y.data() + y.size()};
  }
};

void check(const Case& c, unsigned seed) {
  const Operands operands(c, seed);
  INFO(describe(c) << ", seed " << seed);
  std::vector<float> expected;
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    if (expected.empty()) expected = operands.expected(c.activation ? table->relu : nullptr);
    const auto check_walk = [&](std::size_t walk, bool by_chunks) {
      INFO("walk " << walk << (by_chunks ? ", by chunks" : ""));
      const std::vector<float> actual = operands.actual(*table, walk, 1 + seed % 4, by_chunks);
      CHECK(same_bits(actual.data(), expected.data(), actual.size()));
    };
    const bool is_row = c.m == 1;
    const auto& by_columns = column_walks(*table, c.kn, c.stored);
    const std::size_t column_count = is_row ? by_columns.count : by_columns.of_several_rows;
    for (std::size_t walk = 0; walk < column_count; ++walk) check_walk(walk, false);
    if (!c.kn || c.m == 0 || c.m > kChunkRows) continue;
    const auto& by_chunks = chunk_walks(*table, c.stored);
    const std::size_t chunk_count = is_row ? by_chunks.count : by_chunks.of_several_rows;
    for (std::size_t walk = 0; walk < chunk_count; ++walk) check_walk(walk, true);
  }
}

}  // namespace

TEST_CASE("matrix products follow the rules bit for bit on every instruction set") {
  // Sizes at and around the numbers of lanes, the panels, the chunks and the register tiles of
  // every table.
  const std::size_t ks[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 255, 256, 257, 300, 513, 768};
  const std::size_t ns[] = {1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 65, 96, 127, 128, 129, 160};
  const std::size_t ms[] = {
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 17, 25, 40, kFewRows, kFewRows + 1, kFewRows + 20};
  unsigned seed = 0;
  for (const bool kn : {true, false}) {
    for (const Stored stored : {Stored::f32, Stored::f16, Stored::bf16}) {
      for (const std::size_t k : ks) {
        for (std::size_t i = 0; i < (test::is_slow() ? 1 : 4); ++i) {
          ++seed;
          const std::size_t n = ns[(seed * 7 + i) % std::size(ns)];
          const std::size_t m = ms[(seed * 5 + i) % std::size(ms)];
          check({m, k, n, stored, kn, seed % 2 == 0, seed % 3 == 0, seed % 4 < 2}, seed);
        }
      }
    }
  }
}

TEST_CASE("matrix products with every number of rows follow the rules") {
  for (std::size_t m = 1; m <= kFewRows + 13; m += test::is_slow() ? 5 : 1) {
    check({m, 300, 70, Stored::f32, true, true, false, false}, static_cast<unsigned>(m));
    check({m, 40, 37, Stored::bf16, false, true, false, false}, static_cast<unsigned>(m));
  }
  // So many columns that the sums of kFewRows rows do not fit into the scratch memory at once.
  check({kFewRows, 9, 1100, Stored::f32, true, true, false, true}, 0);
  check({kMaxRows, 33, 40, Stored::f32, true, true, true, true}, 1);
  check({kMaxRows, 33, 40, Stored::f16, false, true, true, true}, 2);
}

TEST_CASE("one row follows the rules, whether computed by columns or by chunks") {
  unsigned seed = 50;
  for (const Stored stored : {Stored::f32, Stored::f16, Stored::bf16}) {
    for (const std::size_t k : {1u, 255u, 256u, 257u, 1500u, 3072u}) {
      if (k > 1000 && test::is_slow()) continue;
      for (const std::size_t n : {1u, 16u, 31u, 100u, 128u}) {
        for (const bool kn : {true, false}) {
          check({1, k, n, stored, kn, seed % 2 == 0, seed % 3 == 0, seed % 4 < 2}, ++seed);
        }
      }
    }
    // Rows of weights that are longer than a page of memory.
    check({1, 330, stored == Stored::f32 ? 1101u : 2101u, stored, true, true, false, true}, ++seed);
  }
}

}  // namespace gpt2::test::matmul_test
