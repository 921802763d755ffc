// Tests that a token's logits depend, bit for bit, only on the tokens up to and including it.
#include "gpt2/session.h"

#include "gpt2/generate.h"
#include "model/engine_impl.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::session_test {

namespace {

Model load(const char* name) {
  return Model::load(std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases" / name);
}

}  // namespace

TEST_CASE("a session that slides goes on like a new one with the tokens kept") {
  const Model model = load("layers5");
  const std::vector<TokenId> ids = test::random_tokens(model, 30, 1);
  const std::vector<TokenId> more = test::random_tokens(model, 12, 2);
  struct Case {
    std::size_t keep, room, dropped;
  };
  for (const auto& [keep, room, dropped] :
       {Case{0, 2, 0}, Case{0, 3, 15}, Case{1, 3, 15}, Case{7, 12, 12}, Case{20, 12, 10}}) {
    CAPTURE(keep, room);
    Session session(model, {.max_tokens = 32});
    session.forward(std::span(ids).first(25));
    session.append(std::span(ids).last(5));
    CHECK(session.slide(keep, room) == dropped);
    CHECK(session.dropped() == dropped);
    std::vector<TokenId> kept(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(keep));
    kept.insert(kept.end(), ids.begin() + static_cast<std::ptrdiff_t>(keep + dropped), ids.end());
    CHECK(std::ranges::equal(session.tokens(), kept));
    Session fresh(model);
    fresh.forward(kept);
    const auto next = std::span(more).first(room);
    CHECK(same_bits(session.forward(next), fresh.forward(next)));
  }
  Session session(model, {.max_tokens = 32});
  session.forward(ids);
  CHECK_THROWS_AS(session.slide(21, 12), Error);
  CHECK(session.position() == 30);
  session.rewind(4);
  session.append(session.tokens().last(2));  // its own
  CHECK(std::ranges::equal(session.tokens(),
                           std::vector{ids[0], ids[1], ids[2], ids[3], ids[2], ids[3]}));
}

TEST_CASE("invalid passes are refused and change nothing") {
  const Model model = load("tiny_default");
  const auto limit = static_cast<TokenId>(model.config().vocab_size);
  Session session(model, {.max_tokens = 8});
  const std::vector<TokenId> two = {1, 2};
  session.forward(two);
  const std::pair<std::vector<TokenId>, std::string> prompts[] = {
      {{}, "at least one"},
      {{1, limit}, std::to_string(limit)},
      {{-1}, "-1"},
      {{1, 1, 1, 1, 1, 1, 1}, "room for 6"}};
  for (const auto& [ids, fact] : prompts) {
    check_bad_argument([&] { session.forward(ids); }, {fact});
  }
  Session moved(model);
  const Session taken = std::move(moved);
  Session stranger(load("untied"));
  std::vector<float> logits(model.config().vocab_size * 3);
  const std::vector<Slice> passes[] = {
      {{&session, two, logits}},                      // more logits than tokens
      {{&session, two, std::span(logits).first(5)}},  // not a whole row
      {{nullptr, two, {}}},
      {{&moved, two, {}}},
      {{&session, two, {}}, {&session, two, {}}},
      {{&session, two, {}}, {&stranger, two, {}}}};
  for (const auto& slices : passes) {
    CHECK_THROWS_AS(forward(slices), Error);
    CHECK_THROWS_AS(Engine(model).forward(slices), Error);
  }
  CHECK_THROWS_AS(Session(model, {.max_tokens = model.config().n_positions + 1}), Error);
  CHECK_THROWS_AS(Engine(model, {.threads = -1}), Error);
  CHECK_THROWS_AS(Engine(model, {.threads = EngineOptions::kMaxThreads + 1}), Error);
  CHECK_THROWS_AS(session.set_history({.written = 3}), Error);
  CHECK(session.position() == 2);
}

TEST_CASE("sessions made from a model share one engine") {
  const Model model = load("tiny_default");
  const Session a(model);
  const Session b(model, {.max_tokens = 4});
  CHECK(&a.engine().impl() == &b.engine().impl());
  CHECK(&a.fork().engine().impl() == &a.engine().impl());
  CHECK(&Engine::shared(model).impl() == &a.engine().impl());
  CHECK(&Engine(model).impl() != &a.engine().impl());
  CHECK(&Engine::shared(load("tiny_default")).impl() != &a.engine().impl());
}

TEST_CASE("a session that was moved from is refused by all of its functions") {
  const Model model = load("tiny_default");
  Session session(model);
  const std::vector<TokenId> two = {1, 2};
  Session taken = std::move(session);
  const auto refused = [](const auto& call) {
    CHECK(test::refusal_of(call) == "the session was moved from");
  };
  const std::function<void()> calls[] = {
      [&] { (void)session.forward(two); }, [&] { session.append(two); },
      [&] { session.rewind(0); },          [&] { (void)session.slide(0, 1); },
      [&] { (void)session.fork(); },       [&] { session.assign(session); },
      [&] { session.assign(taken); },      [&] { taken.assign(session, 0); },
      [&] { (void)session.tokens(); },     [&] { (void)session.history(); },
      [&] { session.set_history({}); },    [&] { (void)session.engine(); },
  };
  for (const auto& call : calls) refused(call);
  refused([&] { (void)generate(session, two, {}, nullptr); });
  session = std::move(taken);
  CHECK(session.forward(two).size() == model.config().vocab_size);
}

TEST_CASE("waiting tokens are read by the next pass, with the same bits") {
  const Model model = load("layers5");
  const std::vector<TokenId> ids = test::random_tokens(model, 30, 1);
  const std::span<const TokenId> all(ids);
  Session whole(model);
  const std::vector<float> expected = all_logits(whole, ids);
  const std::size_t vocab_size = model.config().vocab_size;
  Session session(model, {.max_tokens = 30});
  session.append(all.first(3));
  session.append(all.subspan(3, 2));
  CHECK(std::ranges::equal(session.tokens(), all.first(5)));
  CHECK(session.waiting() == 5);
  CHECK(same_bits(session.forward({}), std::span(expected).subspan(4 * vocab_size, vocab_size)));
  CHECK(session.waiting() == 0);
  CHECK_THROWS_AS(session.forward({}), Error);  // no token waits any more

  session.append(all.subspan(5, 18));
  session.rewind(10);
  CHECK(session.waiting() == 5);
  session.rewind(3);
  CHECK(session.waiting() == 0);
  session.append(all.subspan(3, 20));
  const std::vector<TokenId> eight(8, 1);
  CHECK_THROWS_AS(session.append(eight), Error);
  CHECK_THROWS_AS(session.forward(eight), Error);
  CHECK_THROWS_AS(session.append(std::vector<TokenId>{static_cast<TokenId>(vocab_size)}), Error);
  CHECK_THROWS_AS(session.rewind(24), Error);
  CHECK(session.position() == 23);
  std::vector<float> logits(8 * vocab_size);  // of a waiting token and of the 7 that follow
  const Slice slice{&session, all.subspan(23), logits};
  forward(std::span(&slice, 1));
  CHECK(same_bits(logits, std::span(expected).last(logits.size())));
}

}  // namespace gpt2::test::session_test
