// Tests that quantized weights have exactly the bytes that the plain algorithm below gives, for any
// weights, sizes, layouts and types, on every instruction set.
#include "model/weight.h"

#include <array>

#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::quantize_test {

using namespace kernel_test;

namespace {

// -- The algorithm, one column of one block at a time --------------------------------------------

float rounded_to_f16(float scale) {
  return from_f16(to_f16(std::clamp(scale, -65504.0f, 65504.0f)));
}

void store_scale(std::byte* block, std::size_t column, float scale, const float* w,
                 std::size_t depth) {
  const bool is_finite = std::all_of(w, w + depth, [](float x) { return std::isfinite(x); });
  const std::uint16_t bits = to_f16(is_finite ? scale : std::numeric_limits<float>::quiet_NaN());
  std::memcpy(block + column * 2, &bits, 2);
}

void expect_int8(std::byte* block, const float* w, std::size_t column) {
  float largest = 0.0f;
  for (std::size_t k = 0; k < kInt8Block; ++k) largest = std::max(largest, std::abs(w[k]));
  const float scale = rounded_to_f16(largest / 127.0f);
  const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
  store_scale(block, column, scale, w, kInt8Block);
  for (std::size_t k = 0; k < kInt8Block; ++k) {
    const float code = w[k] * inverse;
    const float limited = code > -127.0f ? std::min(code, 127.0f) : -127.0f;  // -127 if NaN
    const auto rounded = static_cast<int>(std::nearbyint(limited));           // ties to even
    block[2 * kPanel + (k / 4 * kPanel + column) * 4 + k % 4] =
        static_cast<std::byte>(rounded + 128);
  }
}

unsigned nearest_code(float x) {
  unsigned code = 0;
  for (int i = 1; i < 16; ++i) {
    code += x > 0.5f * static_cast<float>(kInt4Codebook[i - 1] + kInt4Codebook[i]);
  }
  return code;
}

float inverse_of(float scale) { return scale != 0.0f ? 1.0f / scale : 0.0f; }

void expect_int4(std::byte* block, const float* w, std::size_t column) {
  const auto [low, high] = std::minmax_element(w, w + kInt4Block);
  const float extreme = -*low > *high ? *low : *high;
  float best_scale = 0.0f;
  float best_gain = 0.0f;
  for (const float end : {-127.0f, 102.0f}) {
    for (const float stretch : {0.95f, 1.03f, 1.12f}) {
      const float inverse = inverse_of(extreme / (end * stretch));
      float product = 0.0f;
      int square = 0;
      for (std::size_t k = 0; k < kInt4Block; ++k) {
        const int value = kInt4Codebook[nearest_code(w[k] * inverse)];
        product += w[k] * static_cast<float>(value);
        square += value * value;
      }
      const float scale = product / static_cast<float>(square);
      if (scale * product > best_gain) best_scale = scale, best_gain = scale * product;
    }
  }
  const float scale = rounded_to_f16(best_scale);
  store_scale(block, column, scale, w, kInt4Block);
  for (std::size_t k = 0; k < kInt4Block; ++k) {
    block[2 * kPanel + (k / 8 * kPanel + column) * 4 + k % 4] |=
        static_cast<std::byte>(nearest_code(w[k] * inverse_of(scale)) << (k % 8 < 4 ? 0 : 4));
  }
}

struct Format {
  const char* name;
  std::size_t block, block_bytes;
  WeightType type;
  decltype(&expect_int8) expect;
};

constexpr Format kFormats[] = {
    {"int8", kInt8Block, kInt8BlockBytes, WeightType::int8, expect_int8},
    {"int4", kInt4Block, kInt4BlockBytes, WeightType::int4, expect_int4}};

/// The bytes of a matrix whose element (k, n) is w[n * depth + k].
std::vector<std::byte> expected_bytes(const Format& format, const std::vector<float>& w,
                                      std::size_t depth, std::size_t columns) {
  const std::size_t blocks = ceil_div(depth, format.block);
  std::vector<std::byte> bytes(ceil_div(columns, kPanel) * blocks * format.block_bytes);
  for (std::size_t n = 0; n < round_up(columns, kPanel); ++n) {
    for (std::size_t b = 0; b < blocks; ++b) {
      std::array<float, kInt8Block> weights = {};  // zero past the matrix
      for (std::size_t i = 0; i < format.block && n < columns; ++i) {
        const std::size_t k = b * format.block + i;
        if (k < depth) weights[i] = w[n * depth + k];
      }
      format.expect(&bytes[(n / kPanel * blocks + b) * format.block_bytes], weights.data(),
                    n % kPanel);
    }
  }
  return bytes;
}

// -- Weights -------------------------------------------------------------------------------------

struct StoredType {
  const char* name;
  WeightType weight_type;
  std::size_t bytes;
  std::uint32_t (*narrow)(float value);
  float (*widened)(std::uint32_t bits);
};

const StoredType kTypes[] = {
    {"f32", WeightType::f32, 4, [](float x) { return std::bit_cast<std::uint32_t>(x); },
     [](std::uint32_t bits) { return std::bit_cast<float>(bits); }},
    {"f16", WeightType::f16, 2, [](float x) { return std::uint32_t{to_f16(x)}; },
     [](std::uint32_t bits) { return from_f16(static_cast<std::uint16_t>(bits)); }},
    {"bf16", WeightType::bf16, 2, [](float x) { return std::uint32_t{to_bf16(x)}; },
     [](std::uint32_t bits) { return from_bf16(static_cast<std::uint16_t>(bits)); }}};

/// A random weight. The kinds are those at which a fast algorithm could go another way: zeros of
/// both signs, numbers on the borders between two codes and halfway between two, sums that
/// overflow, scales that f16 rounds to a subnormal number, to zero or to its max, subnormal
/// weights, and now and then a NaN or an infinity.
constexpr int kKinds = 9;
float weight_of(int kind, Random& random) {
  const std::uint32_t bits = random.bits();
  const float uniform = static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f;
  const int sixteenth = static_cast<int>(bits >> 4 & 15);
  switch (kind) {
    case 0: return std::abs(uniform) < 0.9f ? uniform : 4.0f * uniform;
    case 1: return bits % 8 > 0 ? std::copysign(0.0f, uniform) : uniform;
    case 2: return 0.125f * std::nearbyint(uniform * 255.0f) * 0.5f;
    case 3: {
      const int next = kInt4Codebook[std::min(sixteenth + static_cast<int>(bits % 2), 15)];
      return 0x1p-7f * 0.5f * static_cast<float>(kInt4Codebook[sixteenth] + next);
    }
    case 4: return uniform * 3.4e38f;
    case 5: return uniform * 1e-5f;
    case 6: return uniform * 1e-39f;
    case 7: return uniform * 1e7f;
    default: return bits % 64 > 0 ? uniform : sixteenth < 8 ? NAN : uniform * INFINITY;
  }
}

/// The stored bits of `count` weights of a kind; -1 means any bits, most of which are extreme
/// numbers.
std::vector<std::uint32_t> random_bits(const StoredType& type, int kind, std::size_t count,
                                       Random& random) {
  std::vector<std::uint32_t> bits(count);
  for (std::uint32_t& each : bits) {
    each = kind < 0 ? random.bits() : type.narrow(weight_of(kind, random));
    if (type.bytes == 2) each &= 0xffff;
  }
  return bits;
}

void check(const Format& format, const StoredType& type, int kind, std::size_t k, std::size_t n,
           bool k_major, Random& random) {
  INFO(format.name << " of " << type.name << ", kind " << kind << ", k " << k << ", n " << n
                   << (k_major ? ", [k, n]" : ", [n, k]"));
  const std::vector<std::uint32_t> bits = random_bits(type, kind, k * n, random);
  std::vector<float> w(k * n);
  Guarded<std::byte> stored(k * n * type.bytes, k % 4);
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t i = 0; i < k; ++i) {
      const std::uint32_t element = bits[column * k + i];
      w[column * k + i] = type.widened(element);
      const std::size_t at = k_major ? i * n + column : column * k + i;
      std::memcpy(stored.data() + at * type.bytes, &element, type.bytes);
    }
  }
  const std::vector<std::byte> expected = expected_bytes(format, w, k, n);
  const auto layout = k_major ? Weight::Layout::kn : Weight::Layout::nk;
  const std::string before(isa_name());
  for (const std::string& isa : available_isas()) {
    INFO(isa);
    force_isa(isa);
    const Weight matrix = {stored.data(), type.weight_type, layout, k, n};
    Guarded<std::byte> actual(std::vector<std::byte>(expected.size(), std::byte{0xee}));
    for (std::size_t panel = 0; panel < ceil_div(n, kPanel); ++panel) {
      for (std::size_t block = 0; block < ceil_div(k, format.block); ++block) {
        quantize_block(actual.data(), format.type, matrix, panel, block);
      }
    }
    CHECK(std::memcmp(actual.data(), expected.data(), expected.size()) == 0);
  }
  force_isa(before);
}

}  // namespace

TEST_CASE("quantized weights have the bytes of the plain algorithm on every instruction set") {
  Random random(1);
  for (const Format& format : kFormats) {
    for (const StoredType& type : kTypes) {
      for (int kind = -1; kind < kKinds; ++kind) {
        for (const bool k_major : {true, false}) {
          for (const std::size_t k : {1u, 31u, 64u, 65u, 100u, 256u}) {
            check(format, type, kind, k, 32, k_major, random);
            check(format, type, kind, k, 1 + random.bits() % 100, k_major, random);
          }
        }
      }
    }
  }
}

}  // namespace gpt2::test::quantize_test
