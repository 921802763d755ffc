// There is one answer, bit for bit, for every combination of instruction set, number of threads,
// division of the prompt, other sequences in the batch, weight type and type of keys and values.
// The model has random weights, and its sizes are not multiples of any vector or tile. The pins are
// hashes of our own output: they show that bits have changed, also between machines (tools/test.sh
// --aarch64 compares them on Arm). That the numbers are right is shown by oracle_test.
#include "base/hash.h"
#include "cli/bench/random_model.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::one_answer_test {

namespace {

struct Type {
  WeightType dtype;
  KVType kv_type;
  const char* name;
  std::uint64_t pin;
};

// The pin is the hash of the logits at the positions 89 to 98 of the prompt below, in one piece, on
// one thread, as gpt2 --stats hashes what it writes. tests/web/bits.mjs reads the pins, too.
constexpr Type kTypes[] = {
    {WeightType::f32, KVType::f32, "f32", 0x42e0fbc871d9810b},
    {WeightType::f32, KVType::f16, "f32 with f16 keys", 0x18531eeeedb2017b},
    {WeightType::f16, KVType::f32, "f16", 0xa3b30960faa2a17b},
    {WeightType::bf16, KVType::f32, "bf16", 0x785acb0c7ee61171},
    {WeightType::int8, KVType::f32, "int8", 0x5b609763bb8a2cbd},
    {WeightType::int8, KVType::f16, "int8 with f16 keys", 0x163b48509a932fa4},
    {WeightType::int4, KVType::f32, "int4", 0x92bdc936e87aa048},
    {WeightType::int4, KVType::f16, "int4 with f16 keys", 0xa29c5629008ff36f},
};

Model model_of(WeightType dtype) {
  return random_model({.vocab_size = 1003,
                       .n_positions = 100,
                       .n_embd = 330,
                       .n_layer = 2,
                       .n_head = 5,
                       .n_inner = 1037},
                      {.dtype = dtype});
}

// Returns what the pin is.
std::uint64_t hash_of(std::span<const float> logits) {
  std::uint64_t hash = 0;
  for (std::size_t row = 89; row < 99; ++row) {
    hash = hash_floats(logits.subspan(row * 1003, 1003), hash);
  }
  return hash;
}

std::vector<TokenId> prompt_of(std::size_t length, unsigned seed) {
  std::vector<TokenId> ids(length);
  for (std::size_t i = 0; i < length; ++i) {
    ids[i] = static_cast<TokenId>((i * 7919 + 13 + seed * 101) % 1003);
  }
  return ids;
}

std::vector<float> run(const Model& model, KVType kv_type, std::span<const TokenId> ids,
                       int threads, std::size_t piece) {
  Session session = session_of(model, threads, 0, kv_type);
  const std::size_t vocab_size = model.config().vocab_size;
  std::vector<float> logits(ids.size() * vocab_size);
  for (std::size_t begin = 0; begin < ids.size(); begin += piece) {
    const std::size_t count = std::min(piece, ids.size() - begin);
    const Slice slice{&session, ids.subspan(begin, count),
                      std::span(logits).subspan(begin * vocab_size, count * vocab_size)};
    forward(std::span(&slice, 1));
  }
  return logits;
}

// Runs the prompt in a batch with eight others, each of them in two passes.
std::vector<float> run_in_batch(const Model& model, KVType kv_type, const std::vector<TokenId>& ids,
                                int threads) {
  const std::size_t vocab_size = model.config().vocab_size;
  std::vector<Session> sessions = sessions_of(model, threads, std::vector<std::size_t>(9), kv_type);
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::vector<float>> logits;
  for (unsigned i = 0; i < 9; ++i) {
    prompts.push_back(i == 4 ? ids : prompt_of(5 + 3 * i, i));
    logits.emplace_back(prompts.back().size() * vocab_size);
  }
  for (const bool second : {false, true}) {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < 9; ++i) {
      const std::size_t cut = prompts[i].size() / 3;
      const std::span<const TokenId> tokens(prompts[i]);
      const std::span<float> all(logits[i]);
      slices.push_back({&sessions[i], second ? tokens.subspan(cut) : tokens.first(cut),
                        second ? all.subspan(cut * vocab_size) : all.first(cut * vocab_size)});
    }
    forward(slices);
  }
  return logits[4];
}

// Returns the instruction sets to compare. If GPT2_TEST_SLOW is set, each type has one of those
// that are not plain C++ in turn.
std::vector<std::string> isas_of(const Type& type) {
  std::vector<std::string> names = available_isas();
  if (names.size() > 1 && is_slow()) names.pop_back();
  if (is_slow()) names = {names[static_cast<std::size_t>(&type - kTypes) % names.size()]};
  return names;
}

}  // namespace

TEST_CASE("a hash does not depend on the bits of a NaN, which differ between instruction sets") {
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {1.0f, quiet}, others[] = {1.0f, -quiet}, numbers[] = {1.0f, 2.0f};
  CHECK(hash_floats(values, 0) == hash_floats(others, 0));
  CHECK(hash_floats(values, 0) != hash_floats(numbers, 0));
}

TEST_CASE("one answer for all instruction sets, threads, pieces and batches") {
  const std::string before(isa_name());
  const std::vector<TokenId> ids = prompt_of(100, 0);
  std::size_t runs = 0;
  for (const Type& type : kTypes) {
    std::vector<float> expected;
    for (const std::string& isa : isas_of(type)) {
      force_isa(isa);
      const Model model = model_of(type.dtype);
      INFO(type.name << " on " << isa);
      if (expected.empty()) {
        expected = run(model, type.kv_type, ids, 1, ids.size());
        CHECK(hash_of(expected) == type.pin);
      }
      // Plain C++ emulates the fused multiply-add and is slow, so only a few of its combinations
      // are run.
      const bool slow = isa == "scalar" || is_slow();
      for (const int threads : {1, 2, 3, 8}) {
        for (const std::size_t piece :
             {std::size_t{1}, std::size_t{7}, std::size_t{64}, ids.size()}) {
          if (slow && (threads != 2 || piece == 1)) continue;
          if (threads != 2 && (piece == 7 || piece == 64)) continue;
          if (is_slow() && piece != 7) continue;
          INFO(threads << " threads, pieces of " << piece);
          REQUIRE(same_bits(run(model, type.kv_type, ids, threads, piece), expected));
          ++runs;
        }
        if (slow && threads != 2) continue;
        INFO(threads << " threads, in a batch of nine");
        REQUIRE(same_bits(run_in_batch(model, type.kv_type, ids, threads), expected));
        ++runs;
      }
    }
  }
  force_isa(before);
  // If GPT2_TEST_SLOW is set, each type runs pieces of 7 and a batch. Otherwise plain C++ runs 3
  // sizes of pieces and a batch, and every other instruction set runs a batch and 2 sizes for each
  // of 4 numbers of threads, and 2 more sizes for one of them.
  const std::size_t others = available_isas().size() - 1;
  const std::size_t runs_of_a_type = is_slow() ? 2 : (3 + 1) + others * (4 * (2 + 1) + 2);
  CHECK(runs == std::size(kTypes) * runs_of_a_type);
  WARN("compared " << runs << " runs on up to " << available_isas().size() << " instruction sets");
}

}  // namespace gpt2::test::one_answer_test
