// Tests how keys and values are held: as f32 exactly, and as f16 rounded as KVType says.
#include "model/kv_cache.h"

#include "gpt2/session.h"
#include "gpt2/types.h"
#include "support/test.h"
#include "tensor/float16.h"

namespace gpt2::test::kv_cache_test {

namespace {

constexpr std::size_t kLayers = 2, kHeads = 3;

Config config_of(std::size_t head_dim) {
  return {.vocab_size = 53,
          .n_positions = 300,
          .n_embd = kHeads * head_dim,
          .n_layer = kLayers,
          .n_head = kHeads};
}

// Returns `rows` rows of random numbers of every magnitude that f16 has, and beyond.
std::vector<float> random_rows(std::size_t rows, std::size_t head_dim, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(rows * head_dim);
  for (float& number : numbers) {
    const float mantissa = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    number = std::ldexp(mantissa, static_cast<int>(random() % 46) - 26);
  }
  return numbers;
}

std::vector<float> rounded(std::vector<float> numbers) {
  for (float& number : numbers) {
    number = from_f16(to_f16(std::fmin(std::fmax(number, -65504.0f), 65504.0f)));
  }
  return numbers;
}

struct Rows {
  std::vector<float> keys, values;
};

Rows read(const KVCache& cache, std::size_t layer, std::size_t head, std::size_t rows,
          std::size_t head_dim) {
  Rows found{std::vector<float>(rows * head_dim), std::vector<float>(rows * head_dim)};
  cache.read(layer, head, {found.keys.data(), rows, head_dim, head_dim},
             {found.values.data(), rows, head_dim, head_dim});
  return found;
}

}  // namespace

TEST_CASE("the memory of keys and values is counted, even if no machine has that much") {
  constexpr std::size_t kPositions = std::size_t{1} << 22;
  const Config config = {.n_positions = kPositions, .n_embd = 8, .n_layer = 1000, .n_head = 1};
  CHECK(Session::memory_bytes(config, KVType::f32, kPositions) == 1000 * 2 * kPositions * 8 * 4);
}

TEST_CASE("types of keys and values have names, and auto depends on the weights") {
  for (const KVType type : {KVType::automatic, KVType::f32, KVType::f16}) {
    CHECK(kv_type_named(name_of(type)) == type);
  }
  CHECK(name_of(KVType::automatic) == "auto");
  CHECK(name_of(KVType::f16) == "f16");
  for (const WeightType weights : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    CHECK(resolved(KVType::automatic, weights) == KVType::f32);
    CHECK(resolved(KVType::f16, weights) == KVType::f16);
  }
  for (const WeightType weights : {WeightType::int8, WeightType::int4}) {
    CHECK(resolved(KVType::automatic, weights) == KVType::f16);
    CHECK(resolved(KVType::f32, weights) == KVType::f32);
  }
}

TEST_CASE("a cache returns what was stored: f32 as it was, f16 rounded") {
  for (const std::size_t head_dim : {1u, 7u, 64u, 65u, 130u}) {
    KVCache exact(config_of(head_dim), KVType::f32, 300);
    KVCache half(config_of(head_dim), KVType::f16, 300);
    unsigned seed = 0;
    std::vector<Rows> stored;
    for (std::size_t head = 0; head < kLayers * kHeads; ++head) {
      const Rows& rows = stored.emplace_back(
          Rows{random_rows(300, head_dim, seed++), random_rows(300, head_dim, seed++)});
      for (const auto& [first, count] : {std::pair{0, 5}, {5, 260}, {265, 35}}) {
        const std::size_t begin = static_cast<std::size_t>(first) * head_dim;
        const std::size_t size = static_cast<std::size_t>(count);
        const auto part = [&](const std::vector<float>& all) {
          return ConstMatrix{all.data() + begin, size, head_dim, head_dim};
        };
        for (KVCache* const cache : {&exact, &half}) {
          cache->store(head / kHeads, head % kHeads, static_cast<std::size_t>(first),
                       part(rows.keys), part(rows.values));
        }
      }
    }
    for (std::size_t head = 0; head < stored.size(); ++head) {
      INFO("head_dim " << head_dim << ", head " << head);
      const Rows from_exact = read(exact, head / kHeads, head % kHeads, 300, head_dim);
      const Rows from_half = read(half, head / kHeads, head % kHeads, 300, head_dim);
      CHECK(from_exact.keys == stored[head].keys);
      CHECK(from_exact.values == stored[head].values);
      CHECK(from_half.keys == rounded(stored[head].keys));
      CHECK(from_half.values == rounded(stored[head].values));
    }
  }
}

}  // namespace gpt2::test::kv_cache_test
