// One answer: a token's logits depend on the tokens up to it and on nothing else, bit for bit.
#include "gpt2/session.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "model/random_model.h"
#include "model/session_impl.h"
#include "support/catch.h"

using namespace gpt2;

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> allocations{0};

void* counted_allocation(std::size_t size) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted_allocation(size); }
void* operator new[](std::size_t size) { return counted_allocation(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("the memory of a workspace that fits in none is told") {
  constexpr std::size_t kWidest = std::size_t{1} << 24;
  const Config config{.n_positions = kWidest, .n_embd = kWidest, .n_layer = 1, .n_head = 1};
  // As cli_info_test.cpp counts it; the chunk sums of c_proj, and of a thread's values.
  CHECK(Workspace::bytes(config, kWidest, 1024) ==
        4 * 512 * 10 * kWidest + 516 * (4 * kWidest + 2 * 4 * kWidest / 8) +
            4 * (4 * kWidest / 256 * kWidest) +
            1024 * 4 * (12 * kWidest + kWidest + 32 + 16 + kWidest / 256 * kWidest + 512 * 128));
}

namespace {

Model load(const char* name) {
  return Model::load(std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases" / name);
}

std::vector<TokenId> tokens(const Model& model, std::size_t count, unsigned seed = 1) {
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) {
    seed = seed * 1664525 + 1013904223;
    id = static_cast<TokenId>(seed / 65536 % model.config().vocab_size);
  }
  return ids;
}

// The logits of all positions, the prompt given in pieces.
std::vector<float> run(const Model& model, const std::vector<TokenId>& ids, int threads,
                       std::size_t piece) {
  Session session(model, {.threads = threads});
  const std::size_t vocab_size = model.config().vocab_size;
  std::vector<float> logits(ids.size() * vocab_size);
  for (std::size_t begin = 0; begin < ids.size(); begin += piece) {
    const std::size_t count = std::min(piece, ids.size() - begin);
    const Slice slice{&session, std::span(ids).subspan(begin, count),
                      std::span(logits).subspan(begin * vocab_size, count * vocab_size)};
    forward(std::span(&slice, 1));
  }
  return logits;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.empty()) return b.empty();  // memcmp takes no null
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

const char* const kModels[] = {"tiny_default", "odd_sizes",    "head_dim_7",
                               "one_head_80",  "layers5",      "weights_f16",
                               "weights_bf16", "mixed_dtypes", "untied"};

}  // namespace

TEST_CASE("the same bits for any number of threads and any division of the prompt") {
  for (const char* name : kModels) {
    const Model model = load(name);
    const std::vector<TokenId> ids = tokens(model, model.config().n_positions);
    const std::vector<float> expected = run(model, ids, 1, ids.size());
    for (const int threads : {1, 2, 3, 8}) {
      for (const std::size_t piece :
           {std::size_t{1}, std::size_t{7}, std::size_t{64}, ids.size()}) {
        INFO(name << ", " << threads << " threads, pieces of " << piece);
        REQUIRE(same_bits(run(model, ids, threads, piece), expected));
      }
    }
  }
}

TEST_CASE("the same bits alone and in a ragged batch of nine") {
  for (const char* name : kModels) {
    const Model model = load(name);
    const std::size_t vocab_size = model.config().vocab_size;
    std::vector<std::vector<TokenId>> prompts;
    std::vector<std::vector<float>> logits;
    std::vector<Session> sessions;
    for (unsigned i = 0; i < 9; ++i) {
      prompts.push_back(tokens(model, 1 + 2 * i % 13, i));
      sessions.emplace_back(model, SessionOptions{.threads = 2});
      logits.emplace_back(prompts.back().size() * vocab_size);
    }
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < 9; ++i) slices.push_back({&sessions[i], prompts[i], logits[i]});
    forward(slices);
    for (std::size_t i = 0; i < 9; ++i) {
      INFO(name << ", sequence " << i);
      CHECK(same_bits(logits[i], run(model, prompts[i], 1, 100)));
    }

    // A second pass: each goes on by some tokens of its own, some want no logits.
    slices.clear();
    for (std::size_t i = 0; i < 9; ++i) {
      const std::size_t more = 1 + i % 4;
      for (std::size_t j = 0; j < more; ++j) prompts[i].push_back(static_cast<TokenId>(i + j));
      logits[i].resize(i % 3 == 0 ? 0 : vocab_size);
      slices.push_back({&sessions[i], std::span(prompts[i]).last(more), logits[i]});
    }
    forward(slices);
    for (std::size_t i = 0; i < 9; ++i) {
      if (logits[i].empty()) continue;
      const std::vector<float> alone = run(model, prompts[i], 1, 100);
      CHECK(same_bits(logits[i], std::span(alone).last(vocab_size)));
    }
  }
}

TEST_CASE("the same bits whichever logits are wanted, of one layer and in several passes") {
  const Model model = random_model(
      {.vocab_size = 40, .n_positions = 1100, .n_embd = 34, .n_layer = 1, .n_head = 2}, {});
  const std::vector<TokenId> ids = tokens(model, 1100);
  const std::vector<float> all = run(model, ids, 1, 1100);
  const std::span<const float> expected(all);
  for (const std::size_t wanted : {0, 1, 77, 600}) {
    INFO(wanted << " wanted");
    Session session(model, {.threads = 3});
    std::vector<float> logits(wanted * 40);
    const Slice prompt{&session, std::span(ids).first(1099), logits};
    forward(std::span(&prompt, 1));
    CHECK(same_bits(logits, expected.subspan((1099 - wanted) * 40, wanted * 40)));
    CHECK(same_bits(session.forward(std::span(ids).last(1)), expected.last(40)));
  }
}

TEST_CASE("the same bits after a rewind and in a fork") {
  const Model model = load("layers5");
  const std::vector<TokenId> ids = tokens(model, 40);
  const std::vector<TokenId> detour = tokens(model, 15, 99);
  const std::vector<float> expected = run(model, ids, 1, 100);
  const std::size_t vocab_size = model.config().vocab_size;

  Session session(model);
  session.forward(std::span(ids).first(21));
  session.forward(detour);
  CHECK(session.position() == 36);
  session.rewind(21);
  CHECK(session.position() == 21);

  Session fork = session.fork();
  fork.forward(detour);
  fork.rewind(21);
  CHECK(same_bits(fork.forward(std::span(ids).subspan(21)), std::span(expected).last(vocab_size)));
  CHECK(
      same_bits(session.forward(std::span(ids).subspan(21)), std::span(expected).last(vocab_size)));
  CHECK_THROWS_AS(session.rewind(41), Error);
}

TEST_CASE("a forward pass allocates nothing") {
  const Model model = load("tiny_default");
  const std::vector<TokenId> ids = tokens(model, 64);
  Session session(model, {.threads = 2});
  session.forward(std::span(ids).first(20));  // the OpenMP runtime starts its threads
  counting = true;
  session.forward(std::span(ids).subspan(20, 10));
  for (std::size_t i = 30; i < 64; ++i) session.forward(std::span(ids).subspan(i, 1));
  counting = false;
  CHECK(allocations == 0);
}

TEST_CASE("what cannot be run is refused and changes nothing") {
  const Model model = load("tiny_default");
  const auto limit = static_cast<TokenId>(model.config().vocab_size);
  Session session(model, {.max_tokens = 8});
  const std::vector<TokenId> two = {1, 2};
  session.forward(two);
  const auto refused = [&](const std::vector<TokenId>& ids, const char* word) {
    try {
      session.forward(ids);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(std::string(error.what()).find(word) != std::string::npos);
    }
    CHECK(session.position() == 2);
  };
  refused({}, "at least one");
  refused({1, limit}, std::to_string(limit).c_str());
  refused({-1}, "-1");
  refused({1, 1, 1, 1, 1, 1, 1}, "room for 6 more tokens, got 7");
  CHECK_THROWS_AS(Session(model, {.max_tokens = model.config().n_positions + 1}), Error);

  std::vector<float> logits(model.config().vocab_size * 3);
  const Slice too_many_logits{&session, two, logits};
  CHECK_THROWS_AS(forward(std::span(&too_many_logits, 1)), Error);
  const Slice half_a_row{&session, two, std::span(logits).first(5)};
  CHECK_THROWS_AS(forward(std::span(&half_a_row, 1)), Error);
  const Slice twice[2] = {{&session, two, {}}, {&session, two, {}}};
  CHECK_THROWS_AS(forward(twice), Error);
  Session stranger(load("untied"));
  const Slice strangers[2] = {{&session, two, {}}, {&stranger, two, {}}};
  CHECK_THROWS_AS(forward(strangers), Error);
  CHECK(session.position() == 2);
}

TEST_CASE("a small model uses few threads, unless told how many") {
  const auto model = [](std::size_t n_embd) {
    Config config;
    config.vocab_size = 64;
    config.n_positions = 8;
    config.n_embd = n_embd;
    config.n_head = 1;
    config.n_layer = 2;
    return random_model(config, {.dtype = WeightType::f32});
  };
  const Model tiny = model(32);  // 48 KiB a layer
  CHECK(useful_threads(tiny, 1, 8) == 1);
  CHECK(useful_threads(tiny, 512, 8) > 1);
  const Model middling = model(128);  // 768 KiB a layer
  CHECK(useful_threads(middling, 1, 8) == 2);
  CHECK(useful_threads(middling, 1, 1) == 1);
  CHECK(useful_threads(model(512), 1, 8) == 8);  // 12 MiB a layer

  CHECK(Session(tiny, {.threads = 3}).impl().fewer_threads == false);
  CHECK(Session(tiny).fork().impl().fewer_threads == true);
}

TEST_CASE("where several threads take longer than one, one makes the next passes") {
  using std::chrono::microseconds;
  Pace pace;
  const auto pass = [&](int several, int one) {
    const bool alone = pace.next_is_alone();
    pace.took(alone, microseconds(alone ? one : several));
    return alone ? '1' : 'n';
  };
  std::string passes;
  for (int i = 0; i < 6; ++i) passes += pass(60, 100);
  CHECK(passes == "n1nnnn");  // the second pass compares
  passes.clear();
  for (int i = 0; i < 11; ++i) passes += pass(3000, 100);
  CHECK(passes == "n1n11n1111n");
  passes.clear();
  for (int i = 0; i < 12; ++i) passes += pass(60, 100);
  CHECK(passes == "11111111nnnn");
  CHECK(pass(3000, 100) == 'n');
  CHECK(pass(60, 100) == '1');  // patience begins anew
  CHECK(pass(60, 100) == 'n');
  CHECK(pass(60, 100) == 'n');
}
