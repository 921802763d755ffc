// Tests causal attention, bit for bit against the rules of kernels.h.
#include <deque>
#include <type_traits>

#include "support/kernel_test.h"
#include "support/test.h"

namespace gpt2::test::attention_test {

using namespace kernel_test;

namespace {

struct Head {
  Head(std::size_t head_dim_, std::size_t keys_, unsigned seed)
      : head_dim(head_dim_), keys(keys_), panels((keys_ + kPanel - 1) / kPanel) {
    Random random(seed);
    q = random.normal(keys * head_dim);
    k = random.normal(panels * kPanel * head_dim);
    v = random.normal(keys * head_dim);
    for (std::size_t i = keys; i < panels * kPanel; ++i) {
      for (std::size_t d = 0; d < head_dim; ++d) k[index(i, d)] = NAN;  // kernels must ignore it
    }
  }

  std::size_t head_dim, keys, panels;
  std::vector<float> q, k, v;
  float scale = 0.3f;

  std::size_t index(std::size_t key, std::size_t d) const {
    return (key / kPanel * head_dim + d) * kPanel + key % kPanel;
  }

  /// Returns the result for query `row`, computed by the rules. The exponential is that of the
  /// scalar table, which kernels_vec_math_test checks.
  std::vector<float> expected(std::size_t row) const {
    const std::size_t seen = row + 1;
    std::vector<float> weight(seen);
    for (std::size_t i = 0; i < seen; ++i) {
      const auto key = [&](std::size_t d) { return k[index(i, d)]; };
      weight[i] = dot_kn(q.data() + row * head_dim, head_dim, key) * scale;
    }
    const float largest = *std::max_element(weight.begin(), weight.end());
    const float sum = kScalarKernels.exp_sum(weight.data(), weight.data(), largest, seen);
    std::vector<float> y(head_dim);
    for (std::size_t d = 0; d < head_dim; ++d) {
      const auto value = [&](std::size_t i) { return v[i * head_dim + d]; };
      y[d] = dot_kn(weight.data(), seen, value) / sum;
    }
    return y;
  }

  /// Returns the keys (or the values) of block `block` for queries that see `seen` keys.
  std::vector<float> keys_of(std::size_t block, std::size_t seen) const {
    const std::size_t begin = block * kChunk;
    const std::size_t end = std::min(begin + kChunk, (seen + kPanel - 1) / kPanel * kPanel);
    return slice(k, begin, end);
  }
  std::vector<float> values_of(std::size_t block, std::size_t seen) const {
    return slice(v, block * kChunk, std::min((block + 1) * kChunk, seen));
  }

  /// Returns the same head with its keys and values rounded to f16.
  Head rounded() const {
    Head head = *this;
    for (auto* const numbers : {&head.k, &head.v}) {
      for (float& number : *numbers) number = from_f16(to_f16(number));
    }
    return head;
  }
  std::vector<float> slice(const std::vector<float>& all, std::size_t begin,
                           std::size_t end) const {
    const auto at = [&](std::size_t key) {
      return all.begin() + static_cast<long>(key * head_dim);
    };
    return {at(begin), at(end)};
  }

  /// Returns the kernel's results for the queries from `first` to `first` + `rows`. Each block ends
  /// with its keys if keys_last is true, and with its values otherwise. The buffers end exactly
  /// where the kernel must stop, and there are gaps between the rows of the result.
  template <class Number = float>
  std::vector<float> actual(const Kernels& table, std::size_t first, std::size_t rows,
                            bool keys_last = false) const {
    constexpr bool kIsF32 = std::is_same_v<Number, float>;
    const auto kernel = kIsF32 ? table.attention_f32 : table.attention_f16;
    const std::size_t stride = head_dim + 3;
    const std::size_t seen = first + rows;
    Guarded<float> guarded_q(slice(q, first, seen));
    constexpr std::size_t kGap = 5;  // floats before the first part of a block
    const std::size_t second = kGap + kChunk * head_dim;
    std::deque<Guarded<Number>> buffers;
    std::vector<const void*> blocks;
    for (std::size_t block = 0; block * kChunk < seen; ++block) {
      std::vector<float> part = keys_last ? values_of(block, seen) : keys_of(block, seen);
      std::vector<float> last = keys_last ? keys_of(block, seen) : values_of(block, seen);
      part.insert(part.begin(), kGap, NAN);
      part.resize(second, NAN);
      part.insert(part.end(), last.begin(), last.end());
      std::vector<Number> numbers;
      for (const float f : part) {
        if constexpr (kIsF32) numbers.push_back(f);
        if constexpr (!kIsF32) numbers.push_back(to_f16(f));
      }
      blocks.push_back(buffers.emplace_back(numbers).data());
    }
    Guarded<float> y(std::vector<float>(rows * stride - 3, 7.0f));
    Guarded<float> scratch(attention_scratch_bytes(seen) / sizeof(float));
    kernel({.y = y.data(),
            .y_stride = stride,
            .q = guarded_q.data(),
            .q_stride = head_dim,
            .blocks = blocks.data(),
            .keys = keys_last ? second : kGap,
            .values = keys_last ? kGap : second,
            .rows = rows,
            .first = first,
            .head_dim = head_dim,
            .scale = scale},
           scratch.data());
    std::vector<float> result;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t d = 0; d < head_dim; ++d) result.push_back(y.data()[r * stride + d]);
      for (std::size_t gap = head_dim; gap < stride && r + 1 < rows; ++gap) {
        if (y.data()[r * stride + gap] != 7.0f) result.clear();  // the gap was written
      }
    }
    return result;
  }
};

template <class Number>
void check_as(const Head& head, std::size_t first, std::size_t rows) {
  std::vector<float> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = head.expected(first + r);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  for (const Kernels* const table : tables()) {
    for (const bool keys_last : {false, true}) {
      INFO(table->name << ", head_dim " << head.head_dim << ", first " << first << ", rows " << rows
                       << (keys_last ? ", keys last" : ", values last") << ", numbers of "
                       << sizeof(Number) << " bytes");
      const std::vector<float> actual = head.actual<Number>(*table, first, rows, keys_last);
      REQUIRE(actual.size() == expected.size());
      CHECK(same_bits(actual.data(), expected.data(), expected.size()));
    }
  }
}

/// Keys and values of f16 must give what the rules say for the same numbers in f32.
void check(const Head& head, std::size_t first, std::size_t rows) {
  check_as<float>(head, first, rows);
  check_as<std::uint16_t>(head.rounded(), first, rows);
}

}  // namespace

TEST_CASE("attention follows the rules bit for bit, however the queries are divided") {
  for (const std::size_t head_dim : {1u, 5u, 16u, 17u, 31u, 32u, 33u, 64u, 80u, 257u}) {
    const Head head(head_dim, 70, static_cast<unsigned>(head_dim));
    for (const std::size_t first : {0u, 1u, 30u, 31u, 32u, 57u}) {
      for (const std::size_t rows : {1u, 2u, 12u, 13u}) check(head, first, rows);
    }
  }
}

TEST_CASE("attention over several chunks and blocks of keys follows the rules") {
  const Head head(64, 530, 7);
  for (const std::size_t first : {250u, 254u, 255u, 256u, 500u}) {
    for (const std::size_t rows : {1u, 3u, 29u}) check(head, first, rows);
  }
  const Head longer(36, 1700, 11);  // more blocks than a kernel reads at once
  for (const std::size_t first : {511u, 1023u, 1024u, 1279u, 1280u, 1700u - 2u}) {
    for (const std::size_t rows : {1u, 2u}) check(longer, first, rows);
  }
}

TEST_CASE("later keys and values do not affect an earlier query, even if they are NaN") {
  Head head(64, 60, 9);
  const Head clean = head;
  for (std::size_t i = 41; i < 60; ++i) {
    for (std::size_t d = 0; d < 64; ++d) {
      head.k[head.index(i, d)] = NAN;
      head.v[i * 64 + d] = i % 2 ? INFINITY : NAN;
    }
  }
  for (const Kernels* const table : tables()) {
    INFO(table->name);
    const std::vector<float> actual = head.actual(*table, 30, 30);
    const std::vector<float> expected = clean.actual(*table, 30, 30);
    CHECK(same_bits(actual.data(), expected.data(), 11 * 64));
  }
}

}  // namespace gpt2::test::attention_test
