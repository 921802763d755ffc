// Forward passes and draws must not allocate memory in any way.
#include <new>

#include "cli/bench/random_model.h"
#include "gpt2/generate.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "model/engine_impl.h"
#include "support/allocation_hooks.h"
#include "support/passes.h"
#include "support/test.h"

using namespace gpt2;
using namespace gpt2::test;

namespace {

constexpr std::size_t kPositions = 700;

Model model_of(WeightType dtype) {
  return random_model(
      {.vocab_size = 301, .n_positions = kPositions, .n_embd = 66, .n_layer = 2, .n_head = 2},
      {.dtype = dtype});
}

std::span<const void* const> blocks_of(const Session& session) {
  return {session.impl()->cache.blocks(), ceil_div(session.capacity(), kChunk)};
}

}  // namespace

TEST_CASE("a forward pass allocates nothing") {
  for (const WeightType dtype : {WeightType::f32, WeightType::f16, WeightType::int8}) {
    const Model model = model_of(dtype);
    const std::size_t vocab_size = model.config().vocab_size;
    const std::vector<TokenId> text = random_tokens(model, kPositions, 1);
    const std::span<const TokenId> tokens(text);
    for (const int threads : {1, 2, 3}) {
      INFO("weight type " << static_cast<int>(dtype) << ", " << threads << " threads");
      std::vector<Session> sessions = sessions_of(model, threads, {0, 0, 0});
      std::vector<float> logits(3 * 40 * vocab_size);
      const auto part = [&](std::size_t i, std::size_t count) {
        return std::span(logits).subspan(i * 40 * vocab_size, count * vocab_size);
      };
      sessions[0].forward(tokens.first(1));
      wait_for_quiet();  // until the threads have started
      CHECK(allocations_of([&] { sessions[0].forward(tokens.first(600)); }) == 0);
      CHECK(allocations_of([&] {
              for (int i = 0; i < 20; ++i) sessions[0].forward(tokens.first(1));
            }) == 0);
      const Slice mixed[] = {{&sessions[0], tokens.first(1), part(0, 1)},
                             {&sessions[1], tokens.first(600), part(1, 40)},
                             {&sessions[2], tokens.first(77), {}}};
      CHECK(allocations_of([&] { forward(mixed); }) == 0);
      const Slice steps[] = {{&sessions[2], tokens.first(1), part(0, 1)},
                             {&sessions[0], tokens.first(1), part(1, 1)},
                             {&sessions[1], tokens.first(1), part(2, 1)}};
      CHECK(allocations_of([&] {
              for (int i = 0; i < 20; ++i) forward(steps);
            }) == 0);
      CHECK(allocations_of([&] { sessions[0].rewind(5); }) == 0);
    }
  }
}

TEST_CASE("sessions that share blocks allocate nothing in passes, and when they are reordered") {
  const Model model = model_of(WeightType::f32);
  const std::vector<TokenId> text = random_tokens(model, kPositions, 1);
  const std::span<const TokenId> tokens(text);
  Session session = session_of(model, 2);
  session.forward(tokens.first(500));
  wait_for_quiet();  // until the threads have started
  std::vector<Session> beams;
  for (int i = 0; i < 3; ++i) beams.push_back(session.fork());
  CHECK(allocations_of([&] {
          for (std::size_t i = 0; i < 30; ++i) {  // from one block to the next
            for (std::size_t b = 0; b < 3; ++b) beams[b].forward(tokens.subspan(50 * b + i, 1));
            beams[i % 3].assign(beams[(i + 1) % 3]);
          }
        }) == 0);
  CHECK(allocations_of([&] {
          session.forward(tokens.first(100));
          session.rewind(512);
          session.assign(beams[0]);
        }) == 0);
}

TEST_CASE("if there is no memory, fork, rewind and assign throw and change nothing") {
  const Model model = model_of(WeightType::f32);
  const std::vector<TokenId> text = random_tokens(model, kPositions, 1);
  const std::span<const TokenId> tokens(text);
  Session original = session_of(model, 1);
  original.forward(tokens.first(600));
  Session shorter = session_of(model, 1);
  shorter.forward(tokens.subspan(1, 40));
  Session session = session_of(model, 1);
  std::vector<const void*> blocks;
  const auto is_unchanged = [&] {
    return session.position() == 605 && session.waiting() == 5 &&
           std::ranges::equal(blocks, blocks_of(session));
  };
  const auto fork_original = [&] {
    session = original.fork();
    session.append(tokens.first(5));
    const auto now = blocks_of(session);
    blocks.assign(now.begin(), now.end());
  };

  // Makes the first allocation of `work` fail, then the second, and so on. Returns their number.
  const auto failures_of = [&](const auto& work) {
    std::size_t failures = 0;
    for (;; ++failures) {
      failing_call = failures + 1;
      bool has_failed = false;
      allocations_of([&] {
        try {
          work();
        } catch (const std::bad_alloc&) {
          has_failed = true;
        }
      });
      failing_call = 0;
      if (!has_failed) return failures;
      REQUIRE(is_unchanged());
    }
  };
  fork_original();
  CHECK(failures_of([&] { static_cast<void>(session.fork()); }) > 3);
  CHECK(failures_of([&] { session.rewind(300); }) == 2);  // a list and a block
  fork_original();
  CHECK(failures_of([&] { session.assign(shorter); }) >= 3);  // a list and two blocks
  CHECK(std::ranges::equal(session.tokens(), shorter.tokens()));
}

TEST_CASE("if there is no memory for a smaller draft, it is not made or bad_alloc is thrown") {
  const Model model = model_of(WeightType::f32);
  const Engine engine(model, {.threads = 1});
  const std::vector<TokenId> prompt = random_tokens(model, 300, 1);
  GenerationOptions options{.max_new_tokens = 8};
  options.ignore_eos = true;
  options.constant_draft = true;
  std::vector<TokenId> tokens;
  bool has_failed = false;
  const auto write = [&] {
    has_failed = false;
    try {
      Session session(engine);
      session.forward(std::span(prompt).first(280));
      tokens = generate(session, std::span(prompt).last(20), options, nullptr).tokens;
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
  };
  write();
  const std::vector<TokenId> expected = tokens;
  options.draft = part_of(model, 1, 600);
  write();  // the engine keeps what it needs to find the draft's engine again
  CHECK(tokens == expected);
  std::size_t failures = 0;
  for (std::size_t n = 1;; ++n) {
    tokens.clear();
    tokens.shrink_to_fit();
    failing_call = n;
    const std::ptrdiff_t before = in_use;
    const std::size_t made = allocations_of(write);
    failing_call = 0;
    INFO("allocation " << n);
    REQUIRE(in_use - before == (tokens.empty() ? 0 : 1));
    if (!has_failed) REQUIRE(tokens == expected);
    failures += has_failed;
    if (made < n) break;
  }
  CHECK(failures > 10);
}

TEST_CASE("a draw allocates nothing") {
  const Model model = model_of(WeightType::f32);
  Session session(model);
  std::vector<float> logits;
  for (const float logit : session.forward(random_tokens(model, 9, 1))) logits.push_back(logit);
  wait_for_quiet();  // until the threads have started
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 0.0f}, SamplingOptions{.temperature = 0.8f},
        SamplingOptions{.top_k = 40}, SamplingOptions{.top_p = 0.9f},
        SamplingOptions{.temperature = 1.5f, .top_k = 200, .top_p = 0.95f},
        SamplingOptions{.min_p = 0.01f, .typical_p = 0.9f, .epsilon_cutoff = 1e-4f},
        SamplingOptions{.eta_cutoff = 1e-4f, .repetition_penalty = 1.2f, .bad_words_ids = {{0, 3}}},
        SamplingOptions{.presence_penalty = 1.0f, .no_repeat_ngram_size = 2}}) {
    INFO("top_k " << options.top_k << ", top_p " << options.top_p);
    Sampler sampler(options, logits.size());
    const std::vector<TokenId> ids(10);
    CHECK(allocations_of([&] {
            for (std::size_t i = 0; i < 10; ++i) {
              static_cast<void>(sampler.sample(logits, std::span(ids).first(i)));
            }
          }) == 0);
  }
}
