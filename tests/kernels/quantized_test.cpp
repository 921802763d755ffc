// Tests int8 and int4: quantizing weights, quantizing rows, and the products of both.
#include "model/weight.h"
#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::quantized_test {

using namespace kernel_test;

namespace {

struct Format {
  const char* name;
  std::size_t block, block_bytes;
  WeightType type;
  Walks<Kernels::QuantizedMatmulKernel> Kernels::*matmul;
  Kernels::QuantizeKernel Kernels::*quantize_row;

  [[nodiscard]] std::size_t blocks(std::size_t k) const { return (k + block - 1) / block; }
};

const Format kInt8 = {"int8",
                      kInt8Block,
                      kInt8BlockBytes,
                      WeightType::int8,
                      &Kernels::matmul_int8,
                      &Kernels::quantize_row_int8};
const Format kInt4 = {"int4",
                      kInt4Block,
                      kInt4BlockBytes,
                      WeightType::int4,
                      &Kernels::matmul_int4,
                      &Kernels::quantize_row_int4};

Weight stored(const std::vector<float>& w, std::size_t k, std::size_t n, bool k_major) {
  return {reinterpret_cast<const std::byte*>(w.data()), WeightType::f32,
          k_major ? Weight::Layout::kn : Weight::Layout::nk, k, n};
}

std::vector<std::byte> quantized(const Format& format, const Weight& w) {
  const std::size_t panels = ceil_div(w.n, kPanel);
  std::vector<std::byte> bytes(panels * format.blocks(w.k) * format.block_bytes, std::byte{0xee});
  for (std::size_t panel = 0; panel < panels; ++panel) {
    for (std::size_t b = 0; b < format.blocks(w.k); ++b) {
      quantize_block(bytes.data(), format.type, w, panel, b);
    }
  }
  return bytes;
}

/// One weight, read from the layout that kernels.h describes.
struct PackedWeight {
  float scale;
  int value;  ///< int8: code - 128; int4: the codebook's entry
};

PackedWeight weight_at(const Format& format, const std::vector<std::byte>& bytes,
                       std::size_t blocks, std::size_t k, std::size_t n) {
  const std::byte* const block =
      bytes.data() + (n / kPanel * blocks + k / format.block) * format.block_bytes;
  std::uint16_t scale;
  std::memcpy(&scale, block + n % kPanel * 2, 2);
  const std::byte* const codes = block + 2 * kPanel;
  const std::size_t i = k % format.block;
  if (format.matmul == kInt8.matmul) {
    const auto code = static_cast<int>(codes[(i / 4 * kPanel + n % kPanel) * 4 + i % 4]);
    return {from_f16(scale), code - 128};
  }
  const auto byte = static_cast<unsigned>(codes[(i / 8 * kPanel + n % kPanel) * 4 + i % 4]);
  return {from_f16(scale), kInt4Codebook[i % 8 < 4 ? byte & 15 : byte >> 4]};
}

struct Quantized {
  Quantized(const Format& format, std::size_t m, std::size_t k)
      : block(format.block),
        blocks(format.blocks(k)),
        rows((m + kRowGroup - 1) / kRowGroup * kRowGroup),
        value(rows * blocks * block),
        scale(rows * blocks),
        offset(rows * blocks) {}
  std::size_t block, blocks, rows;
  Guarded<std::int8_t> value;
  Guarded<float> scale;
  Guarded<std::int32_t> offset;

  QuantizedRows row(std::size_t i) {
    const std::size_t at = i / kRowGroup * blocks * kRowGroup + i % kRowGroup;
    return {value.data() + at * block, scale.data() + at, offset.data() + at, blocks};
  }
};

struct Case {
  std::size_t m, k, n;
  bool bias, activation, accumulate;
};

void check_product(const Format& format, const Case& c, unsigned seed) {
  Random random(seed);
  const std::vector<float> x = random.normal(c.m * c.k);
  const std::vector<float> w = random.normal(c.k * c.n);
  const std::vector<float> bias = random.normal(c.n);
  const std::vector<float> before = random.normal(c.m * (c.n + 1));
  const std::vector<std::byte> bytes = quantized(format, stored(w, c.k, c.n, seed % 2 == 0));
  const std::size_t blocks = format.blocks(c.k);
  for (const Kernels* const table : tables()) {
    INFO(format.name << ' ' << table->name << ' ' << c.m << " x " << c.k << " x " << c.n);
    Quantized q(format, c.m, c.k);
    for (std::size_t i = 0; i < c.m; ++i) {
      (table->*format.quantize_row)(q.row(i), x.data() + i * c.k, c.k);
    }

    std::vector<float> expected = before;
    for (std::size_t i = 0; i < c.m; ++i) {
      const QuantizedRows row = q.row(i);
      for (std::size_t n = 0; n < c.n; ++n) {
        float sum = 0.0f;
        for (std::size_t b = 0; b < blocks; ++b) {
          int dot = 0;
          for (std::size_t j = b * format.block; j < (b + 1) * format.block; ++j) {
            dot += row.value[b * kRowGroup * format.block + j % format.block] *
                   weight_at(format, bytes, blocks, j, n).value;
          }
          const float w_scale = weight_at(format, bytes, blocks, b * format.block, n).scale;
          sum = std::fma(static_cast<float>(dot), row.scale[b * kRowGroup] * w_scale, sum);
        }
        if (c.bias) sum = sum + bias[n];
        if (c.activation) sum = std::max(0.0f, sum);
        float& out = expected[i * (c.n + 1) + n];
        out = c.accumulate ? out + sum : sum;
      }
    }

    Guarded<std::byte> guarded_w(bytes, seed % 3);
    Guarded<float> guarded_bias(bias);
    AlignedBuffer<float> scratch(kMatmulScratchBytes / sizeof(float));
    const auto check_walk = [&](std::size_t walk) {
      INFO("walk " << walk);
      Guarded<float> y(before);
      const Matmul product{.y = y.data(),
                           .y_stride = c.n + 1,
                           .x = nullptr,
                           .x_stride = 0,
                           .w = guarded_w.address(),
                           .m = c.m,
                           .k = c.k,
                           .n = c.n,
                           .bias = c.bias ? guarded_bias.data() : nullptr,
                           .activation = c.activation ? table->relu : nullptr,
                           .accumulate = c.accumulate};
      const std::size_t step = (seed % 2 ? 1 : seed % 4 ? 3 : 4) * kPanel;
      for (std::size_t n = 0; n < c.n; n += step) {
        const auto kernel = (table->*format.matmul).walk[walk].kernel;
        kernel(product, q.row(0), n, std::min(c.n, n + step), scratch.data());
      }
      CHECK(same_bits(y.data(), expected.data(), expected.size()));
    };
    const auto& all = table->*format.matmul;
    const std::size_t walks = c.m == 1 ? all.count : all.of_several_rows;
    for (std::size_t walk = 0; walk < walks; ++walk) check_walk(walk);
  }
}

}  // namespace

TEST_CASE("quantized products follow the rules bit for bit on every instruction set") {
  const std::size_t ks[] = {1, 4, 5, 31, 32, 33, 63, 64, 96, 100, 256, 300};
  const std::size_t ns[] = {1, 15, 16, 17, 31, 32, 33, 64, 95, 100};
  unsigned seed = 0;
  for (const Format& format : {kInt8, kInt4}) {
    for (const std::size_t k : ks) {
      for (const std::size_t n : ns) {
        ++seed;
        check_product(format, {seed % 11 + 1, k, n, seed % 2 == 0, seed % 3 == 0, seed % 4 < 2},
                      seed);
      }
    }
    for (const std::size_t n : {97u, 128u, 160u, 300u}) {  // one row, with every walk
      for (const std::size_t k : {33u, 64u, 300u}) {
        check_product(format, {1, k, n, true, k == 33, k == 64}, 4 * ++seed);
      }
    }
    for (std::size_t m = 1; m <= 40; m += 3)
      check_product(format, {m, 70, 40, true, false, false}, 7);
    check_product(format, {2, 768, 64, true, false, true}, 8);
    check_product(format, {kMaxRows, 40, 33, true, true, false}, 9);
    check_product(format, {33, 1100, 40, true, false, true}, 10);
    check_product(format, {71, 2100, 170, true, true, false}, 11);
  }
}

TEST_CASE("quantize_row rounds to the nearest of a block's 255 steps") {
  for (const std::size_t k : {1u, 2u, 31u, 32u, 33u, 64u, 100u, 768u}) {
    for (const Format& format : {kInt8, kInt4}) {
      const std::size_t block = format.block;
      Guarded<float> x(Random(static_cast<unsigned>(k)).normal(k, 0.1f, 3.0f));
      if (k > 40) std::fill_n(x.data() + 32, k == 100 ? 32 : 5, 0.0f);  // a block of zeros
      std::vector<std::int8_t> first;
      for (const Kernels* const table : tables()) {
        INFO(format.name << ' ' << table->name << ", k " << k);
        Quantized q(format, 1, k);
        const QuantizedRows row = q.row(0);
        (table->*format.quantize_row)(row, x.data(), k);
        std::size_t wrong = 0;
        for (std::size_t b = 0; b < row.blocks; ++b) {
          float largest = 0.0f;
          int sum = 0;
          const std::int8_t* const value = row.value + b * kRowGroup * block;
          for (std::size_t i = 0; i < block; ++i) {
            if (b * block + i < k) largest = std::max(largest, std::abs(x.data()[b * block + i]));
            sum += value[i];
          }
          wrong += row.scale[b * kRowGroup] != largest / 127.0f;
          wrong += row.offset[b * kRowGroup] != -128 * sum;
          for (std::size_t i = 0; i < block; ++i) {
            const std::size_t at = b * block + i;
            const float exact = at < k && largest > 0.0f ? x.data()[at] * (127.0f / largest) : 0.0f;
            wrong += std::abs(static_cast<float>(value[i]) - exact) > 0.50001f;
          }
        }
        CHECK(wrong == 0);
        const std::vector<std::int8_t> values(row.value, row.value + q.rows * row.blocks * block);
        if (first.empty()) first = values;
        CHECK(values == first);
      }
    }
  }
}

TEST_CASE("a block too small to divide by becomes zero, and ties round to even") {
  constexpr std::size_t kBlock = kInt8Block;
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    std::vector<float> x(kBlock, 1e-40f);
    Quantized q(kInt8, 1, kBlock);
    table->quantize_row_int8(q.row(0), x.data(), kBlock);
    CHECK(std::all_of(q.value.data(), q.value.data() + kBlock, [](int v) { return v == 0; }));
    x.assign(kBlock, 0.0f);
    x[0] = 127.0f, x[1] = 0.5f, x[2] = 1.5f, x[3] = -0.5f, x[4] = -1.5f, x[5] = -127.0f;
    table->quantize_row_int8(q.row(0), x.data(), kBlock);
    const std::vector<int> expected = {127, 0, 2, 0, -2, -127};
    CHECK(std::vector<int>(q.value.data(), q.value.data() + 6) == expected);
    CHECK(q.offset.data()[0] == 0);
  }
}

TEST_CASE("NaN or infinity turns every product with its block into NaN") {
  for (const Kernels* const table : tables()) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      INFO(table->name << ' ' << bad);
      for (const Format& format : {kInt8, kInt4}) {
        const std::size_t k = 2 * format.block;
        std::vector<float> x(k, 1.0f);
        x[format.block + 7] = bad;
        Quantized q(format, 1, k);
        (table->*format.quantize_row)(q.row(0), x.data(), k);
        const std::vector<float> w(k, 1.0f);
        Guarded<std::byte> guarded(quantized(format, stored(w, k, 1, false)), 0);
        AlignedBuffer<float> scratch(kMatmulScratchBytes / sizeof(float));
        float y = 0.0f;
        const Matmul product{.y = &y,
                             .y_stride = 1,
                             .x = nullptr,
                             .x_stride = 0,
                             .w = guarded.address(),
                             .m = 1,
                             .k = k,
                             .n = 1,
                             .bias = nullptr,
                             .activation = nullptr,
                             .accumulate = false};
        (*(table->*format.matmul))(product, q.row(0), 0, 1, scratch.data());
        CHECK(std::isnan(y));
      }
    }
  }
}

}  // namespace gpt2::test::quantized_test
